"""The place where tensor values will come from. Nothing computes them yet, so nobody may read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kv260_runtime.xmodel import Graph, Subgraph


class TensorValuesUnavailable(RuntimeError):
    """The emulation gives time, power and traffic of an execution, not its results."""


class Arithmetic(Protocol):
    """Computes a subgraph or a whole graph."""

    def outputs(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arrays by tensor name, in and out."""
        ...


def arithmetic_of(_graph: Graph, _subgraph: Subgraph) -> Arithmetic | None:
    """What computes this subgraph; None: its output values must not be handed out."""
    return None


def refuse(tensor_name: str) -> TensorValuesUnavailable:
    """The error for a read of values that do not exist."""
    return TensorValuesUnavailable(
        f"virtual_board does not compute tensor values: {tensor_name} has none (time, power and traffic are emulated)"
    )
