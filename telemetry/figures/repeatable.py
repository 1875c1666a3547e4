"""Sums, means and quantiles that come out the same to the last bit with every numpy on every machine.

numpy's own sums depend on how a release vectorises them; these are exact until the final rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from telemetry.model import Float64Array

AT_ONCE = 1 << 16
"""Values that become Python floats at once."""


def total(values: Float64Array) -> float:
    """Sum of all values, shape (n,)."""
    return math.fsum(math.fsum(values[begin : begin + AT_ONCE].tolist()) for begin in range(0, values.size, AT_ONCE))


def mean(values: Float64Array) -> float:
    """Arithmetic mean of at least one value."""
    return total(values) / values.size


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Mean of at least one value, each with its weight."""
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / math.fsum(weights)


def sample_sd(values: Float64Array) -> float:
    """Standard deviation of at least two values, n - 1 in the denominator."""
    apart = values - mean(values)
    return math.sqrt(total(apart * apart) / (values.size - 1))


def quantile(values: Float64Array, share: float) -> float:
    """Quantile of at least one value, linear between order statistics."""
    place = share * (values.size - 1)
    below = math.floor(place)
    above = min(below + 1, values.size - 1)
    ordered = np.partition(values, [below, above])
    low, high = float(ordered[below]), float(ordered[above])
    return low + (high - low) * (place - below)
