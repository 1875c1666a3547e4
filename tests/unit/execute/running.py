"""Runs a graph through every backend that is installed, and insists that they agree."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from kv260_runtime.execute import open_executor
from kv260_runtime.xmodel import Graph
from tests.unit.execute.graphs import Array

HAS_ONNXRUNTIME = find_spec("onnxruntime") is not None
BACKENDS = ["integer", "numpy"] + (["onnxruntime"] if HAS_ONNXRUNTIME else [])

needs_onnxruntime = pytest.mark.skipif(not HAS_ONNXRUNTIME, reason="onnxruntime is not installed")


def run_everywhere(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs by operator name; every backend must give the same."""
    results = [_run(graph, inputs, backend) for backend in BACKENDS]
    for other in results[1:]:
        for name, values in results[0].items():
            assert values.dtype == other[name].dtype
            np.testing.assert_array_equal(values, other[name])
    return results[0]


def _run(graph: Graph, inputs: Mapping[str, Array], backend: str) -> dict[str, Array]:
    executor = open_executor(graph, backend=backend)
    found = executor.run({f"{name}_fix": values for name, values in inputs.items()})
    return {name.removesuffix("_fix"): values for name, values in found.items()}


def units(graph: Graph, backend: str = "onnxruntime", **options: Any) -> list[str]:
    """Names of the classes that compute a plan, in order."""
    executor = open_executor(graph, backend=backend, **options)
    assert executor._program is not None
    return [type(unit).__name__ for unit in executor._program.units]
