"""Operators that the user's own code computes, by type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kv260_runtime.errors import RunFailed
from kv260_runtime.execute.specs import Array, TensorSpec

CustomFunction = Callable[[list[Array], Mapping[str, Any], TensorSpec], Array]
"""From the input arrays (all arguments, in the order of the file), the operator's attributes and its output's spec."""

_FUNCTIONS: dict[str, CustomFunction] = {}


def register_operator(op_type: str, function: CustomFunction) -> None:
    """Let `function` compute all operators of a type, from the next `open_executor` on.

    The result must have the shape and type of the output spec. It may run in several threads at once.
    """
    _FUNCTIONS[op_type] = function


def registered(op_type: str) -> CustomFunction | None:
    """The function of a type, if one is registered."""
    return _FUNCTIONS.get(op_type)


@dataclass(frozen=True, eq=False)
class Custom:
    """A registered function bound to one operator."""

    function: CustomFunction
    name: str
    attrs: Mapping[str, Any]
    output: TensorSpec

    def run(self, *inputs: Array) -> Array:
        """Call the function; RunFailed if its result is not of the output's shape and type."""
        result = np.asarray(self.function(list(inputs), self.attrs, self.output))
        if result.shape != self.output.shape or result.dtype != np.dtype(self.output.dtype):
            raise RunFailed(
                f"operator {self.name!r}: the registered function gave {result.dtype} {list(result.shape)}, "
                f"{self.output.dtype} {list(self.output.shape)} expected"
            )
        return result
