"""What an operator becomes in a plan: a small object that computes one tensor from others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from kv260_runtime.execute.onnx_graph import Value
from kv260_runtime.execute.specs import Array


class Kernel(Protocol):
    """Computes the output from the inputs; holds no state that a run changes, so threads may share it."""

    @property
    def run(self) -> Callable[..., Array]:
        """One execution: a method from the input arrays to the output.

        Inputs are not written to; the result may be a view of one.
        """
        ...


@runtime_checkable
class FloatKernel(Kernel, Protocol):
    """A kernel that can also be written as float32 ONNX operators over integers held in floats."""

    def is_exact(self) -> bool:
        """Whether float32 provably gives the same integers as `run` for every input."""
        ...

    @property
    def emit(self) -> Callable[..., Value]:
        """A method from an OnnxGraph and the input Values to the output Value: adds its operators to the graph."""
        ...
