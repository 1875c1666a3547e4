"""One DPU subgraph through vart.Runner: the boundary of the paper's custom VART loop (Eq. 26 to 30)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kv260_runtime.accelerators import Array, TensorSpec
from kv260_runtime.accelerators.ownership import Owned
from kv260_runtime.accelerators.tensors import checked_inputs, spec_of
from kv260_runtime.accelerators.vendor import (
    load_graph,
    pick_subgraph,
    require_fingerprint,
    run_to_end,
    vendor_module,
)


class VartRunner(Owned):
    """A Runner over vart.Runner; its arrays are its own, writable and contiguous, as the binding demands."""

    def __init__(self, graph: Any, subgraph: Any) -> None:  # noqa: ANN401
        super().__init__()
        require_fingerprint([subgraph])
        # Everything of the vendor's points into the graph, which it does not keep.
        self._graph = graph
        self._runner: Any = vendor_module("vart").Runner.create_runner(subgraph, "run")
        self._inputs = tuple(spec_of(tensor) for tensor in self._runner.get_input_tensors())
        self._outputs = tuple(spec_of(tensor) for tensor in self._runner.get_output_tensors())
        self._in = [np.zeros(spec.shape, dtype=spec.dtype) for spec in self._inputs]
        self._out = [np.zeros(spec.shape, dtype=spec.dtype) for spec in self._outputs]

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    def load(self, tensors: Mapping[str, Array]) -> None:
        with self._use():
            for own, array in zip(self._in, checked_inputs(self._inputs, tensors), strict=True):
                np.copyto(own, array)

    def execute(self) -> None:
        with self._use():
            run_to_end(self._runner, self._in, self._out)

    def fetch(self) -> dict[str, Array]:
        with self._use():
            return {spec.name: array.copy() for spec, array in zip(self._outputs, self._out, strict=True)}

    def close(self) -> None:
        self._is_closed = True
        self._runner = None
        self._graph = None


def open_runner(model: Path, subgraph: int | None = None) -> VartRunner:
    """Open DPU subgraph `subgraph` of `model` (index in topological order; None if there is only one)."""
    graph = load_graph(model)
    return VartRunner(graph, pick_subgraph(graph, subgraph))
