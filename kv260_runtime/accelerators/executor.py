"""A model computed on this machine's CPU, bit for bit as the DPU would, behind the protocol of the real runners."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kv260_runtime.accelerators import Array, TensorSpec
from kv260_runtime.accelerators.ownership import Owned
from kv260_runtime.accelerators.tensors import checked_inputs
from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute import Executor, open_executor
from kv260_runtime.xmodel import XModelError, read_xmodel


class ExecutorRunner(Owned):
    """A Runner over an Executor."""

    def __init__(self, executor: Executor) -> None:
        """Own the executor."""
        super().__init__()
        self._executor = executor
        self._in: dict[str, Array] = {}
        self._out: dict[str, Array] = {}

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Sorted by name."""
        return tuple(self._executor.inputs)

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Sorted by name."""
        return tuple(self._executor.outputs)

    def load(self, tensors: Mapping[str, Array]) -> None:
        """Copy the inputs."""
        with self._use():
            arrays = checked_inputs(self.inputs, tensors)
            self._in = {spec.name: array.copy() for spec, array in zip(self.inputs, arrays, strict=True)}

    def execute(self) -> None:
        """Run once."""
        with self._use():
            self._out = self._executor.run(self._in)

    def fetch(self) -> dict[str, Array]:
        """Copies of the outputs."""
        with self._use():
            return {name: values.copy() for name, values in self._out.items()}

    def close(self) -> None:
        """Release the plan."""
        self._is_closed = True
        self._executor.close()


def open_runner(model: Path, subgraph: int | None = None) -> ExecutorRunner:
    """The whole graph, or its top-level subgraph of index `subgraph` in file order, on all cores."""
    try:
        graph = read_xmodel(model)
    except XModelError as error:
        raise ModelRejected(str(error)) from error
    if subgraph is None:
        return ExecutorRunner(open_executor(graph, threads=os.cpu_count() or 1))
    if not 0 <= subgraph < len(graph.subgraphs):
        raise ModelRejected(f"{model}: has no subgraph {subgraph}; it has {len(graph.subgraphs)}, counted from 0")
    return ExecutorRunner(open_executor(graph, graph.subgraphs[subgraph], threads=os.cpu_count() or 1))
