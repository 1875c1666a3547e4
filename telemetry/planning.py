"""How many runs of which length would find a change of a given size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from telemetry.stats import CONFIDENCE, t_quantile
from telemetry.uncertainty import effective_degrees

WANTED = 0.9
"""How often a change that is there should be found."""
MOST_RUNS = 200
STEPS = 2000


@dataclass(frozen=True)
class Spread:
    """Relative standard deviations of a figure, as one earlier session shows them."""

    runs: float
    """Between runs of `seconds` each, all causes."""
    within: float
    """The part of it that longer runs average out: standard error of one run's mean (batch means), relative."""
    seconds: float
    """Length of those runs."""

    def of_runs_of(self, seconds: float) -> float:
        """Expected standard deviation between runs of another length."""
        lasting = max(self.runs**2 - self.within**2, 0.0)
        return math.sqrt(lasting + min(self.within, self.runs) ** 2 * self.seconds / seconds)


@dataclass(frozen=True)
class PlanRow:
    """The fewest runs of one length that find the change often enough."""

    seconds: float
    """Length of a run."""
    runs: int
    """Runs of each model."""
    probability: float
    """How often they find the change."""

    @property
    def total_seconds(self) -> float:
        """Measuring time of both models, without pauses and smoke runs."""
        return 2 * self.runs * self.seconds


def plan(
    change: float, limit: float, spread: Spread, lengths: Sequence[float], wanted: float = WANTED
) -> list[PlanRow]:
    """For each run length the fewest pairs that find `change` beyond `limit` with probability `wanted`.

    `change` and `limit` are relative and signed as in a Limit. A length for which MOST_RUNS do not suffice is left
    out. ValueError if the change does not exceed the limit.
    """
    rows = []
    for seconds in lengths:
        sd = math.sqrt(2) * spread.of_runs_of(seconds)
        runs = _fewest_pairs(change, limit, sd, wanted)
        if runs is not None:
            rows.append(PlanRow(seconds, runs, found_probability(change, limit, sd, runs)))
    return rows


def _fewest_pairs(change: float, limit: float, sd: float, wanted: float) -> int | None:
    """By bisection, since more pairs find a change more often; None if MOST_RUNS are too few."""
    too_few, enough = 1, MOST_RUNS
    if found_probability(change, limit, sd, enough) < wanted:
        return None
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if found_probability(change, limit, sd, middle) >= wanted:
            enough = middle
        else:
            too_few = middle
    return enough


def found_probability(change: float, limit: float, sd: float, pairs: int, confidence: float = CONFIDENCE) -> float:
    """How often `pairs` pairs, whose log ratios spread by `sd`, put the whole interval beyond the limit.

    The chance that (mean - limit) / (s / sqrt(n)) exceeds t(n - 1), a noncentral t: the normal chance of it for a
    given s, averaged over the chi distribution of s by Simpson's rule.
    """
    beyond = _beyond(change, limit)
    if sd == 0:
        return 1.0
    degrees = pairs - 1
    shift = beyond / (sd / math.sqrt(pairs))
    t = t_quantile((1 + confidence) / 2, degrees)
    highest = 1 + 8 / math.sqrt(degrees)
    width = highest / STEPS
    weights = [1 if i in (0, STEPS) else 4 if i % 2 else 2 for i in range(STEPS + 1)]
    values = (
        weight * _chi_density(i * width, degrees) * _normal_cdf(shift - t * i * width)
        for i, weight in enumerate(weights)
    )
    return min(math.fsum(values) * width / 3, 1.0)


def found_probability_between(
    change: float, limit: float, sd: float, runs: int, session_u: float, confidence: float = CONFIDENCE
) -> float:
    """The same for one session of `runs` runs a model, whose runs spread by `sd` and share an error of `session_u`.

    Normal in the difference of means, with the degrees of freedom that Welch and Satterthwaite give the true values.
    """
    beyond = _beyond(change, limit)
    parts = [(sd / math.sqrt(runs), runs - 1.0)] * 2 + [(session_u, math.inf)] * 2
    combined = math.sqrt(math.fsum(standard**2 for standard, _ in parts))
    if combined == 0:
        return 1.0
    return _normal_cdf(beyond / combined - t_quantile((1 + confidence) / 2, effective_degrees(parts)))


def _beyond(change: float, limit: float) -> float:
    """How far a change lies beyond the limit, in logarithms; ValueError if it does not."""
    if abs(change) <= abs(limit) or change * limit < 0:
        raise ValueError(
            f"a change of {change:+.2%} does not exceed a limit of {limit:+.2%}: no number of runs finds it"
        )
    return abs(math.log1p(change) - math.log1p(limit))


def _chi_density(s: float, degrees: int) -> float:
    """Density at `s` of a sample SD whose true value is 1."""
    if s <= 0:
        return math.sqrt(2 / math.pi) if degrees == 1 else 0.0
    half = degrees / 2
    return 2 * math.exp(half * math.log(half) - math.lgamma(half) + (degrees - 1) * math.log(s) - half * s * s)


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))
