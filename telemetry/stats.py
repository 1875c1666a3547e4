"""Small statistics over a handful of run values: mean, spread, Student's t, intervals, ratios.

Plain floats and `math`: a board should not load scipy for five numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A value with the bounds that its uncertainty gives it."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds."""
        return (self.high - self.low) / 2


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; ValueError for none."""
    if not values:
        raise ValueError("the mean of no values")
    return math.fsum(values) / len(values)


def sample_sd(values: Sequence[float]) -> float:
    """Sample standard deviation, n - 1 in the denominator; ValueError for fewer than two."""
    if len(values) < 2:
        raise ValueError("the spread of fewer than two values")
    centre = mean(values)
    # A product, not a power: the former is exactly rounded everywhere, the latter is as good as a machine's libm.
    return math.sqrt(math.fsum((value - centre) * (value - centre) for value in values) / (len(values) - 1))


def relative_change(before: float, after: float) -> float:
    """(after - before) / before; ValueError if `before` is 0."""
    if before == 0:
        raise ValueError("a change relative to 0")
    return (after - before) / before


def repeatability(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Mean of runs with half-width t(n - 1) s / sqrt(n). Source: measurement_rules.md, Intervals."""
    half = t_quantile((1 + confidence) / 2, len(values) - 1) * sample_sd(values) / math.sqrt(len(values))
    centre = mean(values)
    return Interval(centre, centre - half, centre + half)


def paired_ratio(before: Sequence[float], after: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Ratio after / before of two models measured in pairs: t with n - 1 on ln(after / before).

    A gain error common to a pair cancels. Source: measurement_rules.md, Intervals. ValueError for unequal counts,
    fewer than two pairs, or values that are not positive.
    """
    if len(before) != len(after):
        raise ValueError(f"{len(before)} values cannot be paired with {len(after)}")
    if min(*before, *after) <= 0:
        raise ValueError("a ratio of values that are not positive")
    logs = repeatability([math.log(b / a) for a, b in zip(before, after, strict=True)], confidence)
    return Interval(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high))


NEARLY_NORMAL = 1e5
"""Degrees of freedom from which an expansion around the normal (to 1e-9) is closer than the distribution function."""


def t_quantile(probability: float, degrees: float) -> float:
    """Quantile of Student's t with `degrees` of freedom, which need not be whole; infinite degrees are the normal.

    Correct to about 1e-8. ValueError unless 0 < probability < 1 and degrees > 0.
    """
    if not 0 < probability < 1 or not degrees > 0:
        raise ValueError(f"no Student t quantile at probability {probability} with {degrees} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    if degrees >= NEARLY_NORMAL:
        z = NormalDist().inv_cdf(probability)
        return z + (z**3 + z) / (4 * degrees)
    return _newton_quantile(probability, degrees)


@lru_cache(maxsize=256)
def _newton_quantile(probability: float, degrees: float) -> float:
    """Newton's method from 0, which never overshoots because the distribution function is concave above 0."""
    t = 0.0
    for _ in range(200):
        step = (probability - t_cdf(t, degrees)) / _t_density(t, degrees)
        t += step
        if step <= 1e-13 * t:
            break
    return t


def _t_density(t: float, degrees: float) -> float:
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    return scale * math.pow(1 + t * t / degrees, -(degrees + 1) / 2)


def t_cdf(t: float, degrees: float) -> float:
    """Distribution function of Student's t, through the incomplete beta function (DLMF 8.17)."""
    if math.isinf(degrees):
        return 0.5 * math.erfc(-t / math.sqrt(2))
    tail = 0.5 * incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))
    return 1 - tail if t > 0 else tail


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b) by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front / a * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + ...))), from a depth at which nothing changes any more back to the front."""
    value = 1.0
    for m in range(30 + int(2 * math.sqrt(max(a, b))), 0, -1):
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + even / (1 + odd / value)
    return 1 / (1 - (a + b) * x / (a + 1) / value)
