"""The whole XModel, CPU operators included, through vitis_ai_library's GraphRunner.

The runner's input buffers are filled by a copy that the vendor's own benchmark does not make, so times taken here
are another boundary than xdputil's (measurement_rules.md, Energy and executions).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kv260_runtime.accelerators import Array, TensorSpec
from kv260_runtime.accelerators.ownership import Owned
from kv260_runtime.accelerators.tensors import checked_inputs, spec_of
from kv260_runtime.accelerators.vendor import (
    dpu_subgraphs,
    load_graph,
    require_fingerprint,
    run_to_end,
    vendor_module,
)
from kv260_runtime.errors import ModelRejected


class GraphRunner(Owned):
    """A Runner over vitis_ai_library.GraphRunner."""

    def __init__(self, graph: Any) -> None:  # noqa: ANN401
        super().__init__()
        require_fingerprint(dpu_subgraphs(graph))
        # Everything of the vendor's points into the graph, which it does not keep.
        self._graph = graph
        self._runner: Any = vendor_module("vitis_ai_library").GraphRunner.create_graph_runner(graph)
        self._in = list(self._runner.get_inputs())
        self._out = list(self._runner.get_outputs())
        self._inputs = tuple(spec_of(buffer.get_tensor()) for buffer in self._in)
        self._outputs = tuple(spec_of(buffer.get_tensor()) for buffer in self._out)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    def load(self, tensors: Mapping[str, Array]) -> None:
        with self._use():
            for buffer, array in zip(self._in, checked_inputs(self._inputs, tensors), strict=True):
                np.copyto(np.asarray(buffer), array)

    def execute(self) -> None:
        with self._use():
            run_to_end(self._runner, self._in, self._out)

    def fetch(self) -> dict[str, Array]:
        with self._use():
            return {
                spec.name: np.array(np.asarray(buffer), copy=True)
                for spec, buffer in zip(self._outputs, self._out, strict=True)
            }

    def close(self) -> None:
        self._is_closed = True
        self._in, self._out = [], []
        self._runner = None
        self._graph = None


def open_runner(model: Path, subgraph: int | None = None) -> GraphRunner:
    """Open the whole graph of `model`."""
    if subgraph is not None:
        raise ModelRejected("--subgraph goes with the dpu workload; the graph workload runs the whole XModel")
    return GraphRunner(load_graph(model))
