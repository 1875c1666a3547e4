"""Two results of the same execution, tensor by tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FLOAT_TOLERANCE = 1e-6
"""Absolute, for float tensors: the vendor's softmax is known to that (docs/execution.md). Integers have none."""


@dataclass(frozen=True)
class TensorComparison:
    """One tensor as the board gave it beside what was computed."""

    name: str
    dtype: str
    elements: int
    differing: int
    largest: float | None
    """Largest difference, in stored units; None if shapes or types differ, or it is not finite."""
    first: tuple[int, ...] | None
    """Where the first differing element is."""
    fault: str | None = None
    """Why elements cannot be compared."""

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return self.differing == 0 and self.fault is None


def compare(given: Mapping[str, Array], expected: Mapping[str, Array]) -> list[TensorComparison]:
    """Every expected tensor, then those that nobody expected."""
    compared = [_compare_one(name, given.get(name), values) for name, values in expected.items()]
    stray = [name for name in given if name not in expected]
    return compared + [
        TensorComparison(name, given[name].dtype.name, given[name].size, given[name].size, None, None, "not expected")
        for name in stray
    ]


def _compare_one(name: str, given: Array | None, expected: Array) -> TensorComparison:
    count, dtype = int(expected.size), expected.dtype.name
    if given is None:
        return TensorComparison(name, dtype, count, count, None, None, "the board gives no such tensor")
    if given.shape != expected.shape or given.dtype != expected.dtype:
        told = f"the board gives {given.dtype.name} {list(given.shape)}, {dtype} {list(expected.shape)} expected"
        return TensorComparison(name, dtype, count, count, None, None, told)
    with np.errstate(invalid="ignore"):
        apart = np.abs(given.astype(np.float64) - expected.astype(np.float64))
    tolerance = FLOAT_TOLERANCE if expected.dtype.kind == "f" else 0.0
    # Equal infinities differ by NaN, and so does NaN from anything.
    same = (given == expected) | (np.isnan(given.astype(np.float64)) & np.isnan(expected.astype(np.float64)))
    wrong = ~(same | (apart <= tolerance))
    differing = int(wrong.sum())
    if not differing:
        return TensorComparison(name, dtype, count, 0, float(np.nanmax(apart, initial=0.0)), None)
    largest = float(apart[wrong].max())
    first = tuple(int(index) for index in np.unravel_index(int(wrong.argmax()), wrong.shape))
    return TensorComparison(name, dtype, count, differing, largest if np.isfinite(largest) else None, first)
