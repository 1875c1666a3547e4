"""One file an accelerator API; the only importers of vendor modules.

A runner executes one model, or one subgraph of it, synchronously.
It belongs to the thread that opened or adopted it: the vendor's runners must never be shared between threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from kv260_runtime.errors import KvbenchError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TensorSpec:
    """An input or output as the accelerator holds it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """numpy name of the stored type: `int8`, `float32`, …"""
    fix_point: int | None
    """real = stored * 2**-fix_point; None for a tensor that is not fixed-point."""


class Runner(Protocol):
    """One model made ready on one accelerator."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Inputs in the accelerator's order."""
        ...

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Outputs in the accelerator's order."""
        ...

    def load(self, tensors: Mapping[str, Array]) -> None:
        """Copy stored values (not reals) into the input buffers; every input must be given.

        Raises ModelRejected if a name, shape or type is not the input's.
        """
        ...

    def execute(self) -> None:
        """Run once on the loaded inputs and wait. Raises RunFailed on the vendor's error status."""
        ...

    def fetch(self) -> dict[str, Array]:
        """Copies of the outputs of the last execution."""
        ...

    def adopt(self) -> None:
        """Make the calling thread the owner; others that load, execute or fetch raise WrongThread."""
        ...

    def close(self) -> None:
        """Release the runner before its graph, in that order; idempotent."""
        ...


OPENERS: Mapping[str, str] = {
    "graph": "kv260_runtime.accelerators.graph_runner:open_runner",
    "dpu": "kv260_runtime.accelerators.vart_runner:open_runner",
    "executor": "kv260_runtime.accelerators.executor:open_runner",
}
"""Runner name to `module:callable(model, subgraph) -> Runner`, imported when asked for."""


def open_runner(name: str, model: Path, subgraph: int | None = None) -> Runner:
    """Open `model` (or its subgraph of that index in file order) on the accelerator API called `name`."""
    if name not in OPENERS:
        raise KvbenchError(f"no runner is called {name!r}; known: {', '.join(sorted(OPENERS))}")
    module, _, function = OPENERS[name].partition(":")
    runner: Runner = getattr(import_module(module), function)(model, subgraph)
    return runner
