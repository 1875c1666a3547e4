"""Where tensor values come from: an executor that an installed package offers, asked once for each input.

The executor is reached by the entry point group `kvbench.execution` (docs/decisions/0006), so that the emulation
depends on nothing but its protocol below. Values are computed outside emulated device time and remembered, so that
an input that comes again costs the host nothing but a comparison.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np

from kv260_runtime.xmodel import Graph, Subgraph, XModelError
from virtual_board import clock
from virtual_board.results import Array, Results, Stored

ENTRY_POINT_GROUP = "kvbench.execution"
OUTPUTS_VARIABLE = "KVBENCH_OUTPUTS"
"""`unread`: this process promises to read no output, so none is computed."""


class TensorValuesUnavailable(RuntimeError):
    """Nothing here can compute the values asked for; the text says why."""


class Executor(Protocol):
    """Computes a subgraph or a whole graph; the shape of `kv260_runtime.execute.Executor`."""

    @property
    def inputs(self) -> Sequence[Any]:
        """Specs with `name`, `shape` and `dtype`."""
        ...

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Arrays by tensor name, in and out."""
        ...


class Arithmetic:
    """The values of one subgraph, or of a whole graph; threads share it."""

    def __init__(self, graph: Graph, subgraph: Subgraph | None, inputs: Sequence[str], device_ns: int) -> None:
        """`inputs` names the input tensors in the order of stored inputs; `device_ns` is one emulated execution."""
        self._graph, self._subgraph = graph, subgraph
        self._inputs = tuple(inputs)
        self._device_ns = device_ns
        self._lock = threading.Lock()
        self._executor: Executor | None = None
        self._results = Results()
        self._told = False

    def outputs(self, stored: Stored) -> Mapping[str, Array]:
        """Output arrays by name, not to be written to; TensorValuesUnavailable where they cannot be computed."""
        with self._lock:
            known = self._results.find(stored)
            if known is None:
                known = self._compute(stored)
                self._results.keep(stored, known)
            return known

    def _compute(self, stored: Stored) -> Mapping[str, Array]:
        try:
            if self._executor is None:
                self._executor = _open(self._graph, self._subgraph)
            specs = {spec.name: spec for spec in self._executor.inputs}
            arrays = {
                name: np.frombuffer(values, specs[name].dtype).reshape(specs[name].shape)
                for name, values in zip(self._inputs, stored, strict=True)
            }
            begin_ns = clock.now_ns()
            computed = self._executor.run(arrays)
        except (ValueError, OSError, ImportError, KeyError, XModelError) as error:
            raise TensorValuesUnavailable(f"virtual_board cannot compute tensor values: {error}") from error
        self._tell_if_slow(clock.now_ns() - begin_ns)
        return computed

    def _tell_if_slow(self, host_ns: int) -> None:
        if self._told or host_ns <= self._device_ns:
            return
        self._told = True
        print(
            f"virtual_board: host-slower: {self._graph.name}: computing took {host_ns / 1e6:.1f} ms where the modelled "
            f"device takes {self._device_ns / 1e6:.1f} ms; each new input costs that once",
            file=sys.stderr,
            flush=True,
        )


_shared: WeakValueDictionary[Hashable, Arithmetic] = WeakValueDictionary()
_shared_lock = threading.Lock()


def arithmetic_of(
    identity: Hashable, graph: Graph, subgraph: Subgraph | None, inputs: Sequence[str], device_ns: int
) -> Arithmetic:
    """What computes this subgraph, or the whole graph; one for all runners in this process of the same file."""
    key = (identity, None if subgraph is None else subgraph.name)
    with _shared_lock:
        found = _shared.get(key)
        if found is None:
            found = _shared[key] = Arithmetic(graph, subgraph, inputs, device_ns)
        return found


def outputs_are_read() -> bool:
    """Whether this process may read outputs."""
    return os.environ.get(OUTPUTS_VARIABLE) != "unread"


def refuse(tensor_name: str) -> TensorValuesUnavailable:
    """The error for reading what the process promised not to read."""
    return TensorValuesUnavailable(
        f"virtual_board: {tensor_name} was not computed: {OUTPUTS_VARIABLE}=unread promises that nobody reads it"
    )


def _open(graph: Graph, subgraph: Subgraph | None) -> Executor:
    from importlib.metadata import entry_points  # Takes 20 ms, which a process that reads no output need not wait.

    for point in entry_points(group=ENTRY_POINT_GROUP):
        executor: Executor = point.load()(graph, subgraph, threads=os.cpu_count() or 1)
        return executor
    raise ImportError(f"no installed package offers {ENTRY_POINT_GROUP}: install kvbench again")
