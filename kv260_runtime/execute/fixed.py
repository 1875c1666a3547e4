"""Fixed-point arithmetic of the DPU: an exact sum becomes an int8 by one rounding (xmodel_execution.md, Executing)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kv260_runtime.execute.specs import Array

FLOAT32_EXACT = 1 << 24
"""float32 holds every integer up to here, so sums of integers stay exact in any order, fused or not."""

SLOPED_SHIFT = 17
"""A product with a slope is exact in float32 below 128 if it has at most this many fraction bits; see `is_exact`."""


@dataclass(frozen=True)
class Slope:
    """The factor of a leaky ReLU below 0: numerator * 2 ** -bits."""

    numerator: int
    bits: int

    @classmethod
    def of(cls, value: float) -> Slope:
        """The exact fraction behind a float attribute, e.g. 0.1015625 = 13 / 2 ** 7."""
        numerator, denominator = float(value).as_integer_ratio()
        return cls(numerator, denominator.bit_length() - 1)

    @property
    def value(self) -> float:
        """The factor as a float; exact."""
        return self.numerator / (1 << self.bits)


@dataclass(frozen=True)
class Rounding:
    """y = clamp(floor(f(total * 2 ** -shift) + 1/2), low, high), with f the identity or a leaky ReLU.

    This is DPU_ROUND (board.md section 7): ties go towards +infinity. A ReLU is low = 0, since rounding is monotone.
    """

    shift: int
    low: int = -128
    high: int = 127
    slope: Slope | None = None

    def apply(self, total: Array) -> Array:
        """Round exact integers (int64, or float64 below 2 ** 53) to int8."""
        exact = total.astype(np.int64)
        shift = self.shift
        if self.slope is not None:
            exact = np.where(exact < 0, exact * self.slope.numerator, exact << self.slope.bits)
            shift += self.slope.bits
        if shift > 0:
            exact += 1 << (shift - 1)
            exact >>= shift
        else:
            exact <<= -shift
        return np.clip(exact, self.low, self.high).astype(np.int8)

    def is_exact(self, bound: int) -> bool:
        """Whether float32 gives the same result for every sum whose partial sums are at most `bound` in magnitude.

        Without a slope: bound and the added 1/2 must be below 2 ** 24 units of the finest bit (that of the sum or 1/2).
        With one: besides, the product must be exact where it decides the result, between -128 and 0. There float32
        resolves 2 ** -17; beyond -128 rounding is monotone and the result saturates.
        """
        unit_shift = max(self.shift, 1)
        total = (bound << (unit_shift - self.shift)) + (1 << (unit_shift - 1))
        if total > FLOAT32_EXACT:
            return False
        return self.slope is None or self.shift + self.slope.bits <= SLOPED_SHIFT


def dequantise(fixed: Array, fix_point: int) -> Array:
    """float32 values of fixed-point integers; exact for 8 bits."""
    real: Array = np.asarray(fixed, np.float32) * np.float32(2.0**-fix_point)
    return real
