"""Comparing two models: the ratio of a figure with its interval, and a gate that decides on it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from telemetry.errors import ConfigError
from telemetry.stats import CONFIDENCE, Interval, mean, paired_ratio, sample_sd, t_quantile
from telemetry.uncertainty import effective_degrees


@dataclass(frozen=True)
class Comparison:
    """How a figure of `after` relates to that of `before`."""

    ratio: Interval
    """after / before."""
    method: Literal["paired", "welch"]
    degrees: float
    """Degrees of freedom behind the interval."""


def within_session(before: Sequence[float], after: Sequence[float], confidence: float = CONFIDENCE) -> Comparison:
    """Run i of one model against run i of the other: d_i = ln(after_i / before_i), t with n - 1.

    What both runs of a pair share, such as the sensor's gain, cancels. Source: measurement_rules.md, Intervals.
    ValueError for unequal counts, fewer than two pairs or values that are not positive.
    """
    return Comparison(paired_ratio(before, after, confidence), "paired", len(before) - 1)


def between_sessions(
    before: Sequence[float],
    after: Sequence[float],
    before_u: float,
    after_u: float,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Welch on logarithms plus the between-session variance. Source: measurement_rules.md, Intervals.

    `before_u` and `after_u` are the relative standard uncertainties that all runs of a session share: the sensor's,
    unless both sessions used the same one, and whatever else differs between sessions (`spread_of_sessions`).
    ValueError for fewer than two runs on a side or values that are not positive.
    """
    first, second = _logarithms(before), _logarithms(after)
    errors = [sample_sd(logs) / math.sqrt(len(logs)) for logs in (first, second)]
    parts = [(errors[0], len(first) - 1), (errors[1], len(second) - 1), (before_u, math.inf), (after_u, math.inf)]
    return _welch(mean(second) - mean(first), parts, confidence)


def between_groups(
    before: Sequence[Sequence[float]],
    after: Sequence[Sequence[float]],
    sensor_u: float,
    spread: float,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """The same for any number of sessions a side, each with the values of its runs.

    Several sessions of a side show by themselves how sessions spread, and count as one value each. A side of one
    session borrows the spread of the other side, or takes `spread` (relative, as a given) where neither shows one.
    `sensor_u` is the relative standard uncertainty of each side's sensor, 0 if both used the same one. ValueError for
    values that are not positive, or a lone session of fewer than two runs.
    """
    sides = [[_logarithms(session) for session in side] for side in (before, after)]
    parts = [(sensor_u, math.inf)] * 2
    for place, side in enumerate(sides):
        if len(side) > 1:
            parts.append((sample_sd([mean(logs) for logs in side]) / math.sqrt(len(side)), len(side) - 1))
            continue
        other = sides[1 - place]
        parts.append((sample_sd(side[0]) / math.sqrt(len(side[0])), len(side[0]) - 1))
        parts.append((_beyond_runs(other), len(other) - 1) if len(other) > 1 else (spread, math.inf))
    centres = [mean([mean(logs) for logs in side]) for side in sides]
    return _welch(centres[1] - centres[0], parts, confidence)


def _logarithms(values: Sequence[float]) -> list[float]:
    if min(values) <= 0:
        raise ValueError("a ratio of values that are not positive")
    return [math.log(value) for value in values]


def _welch(difference: float, parts: Sequence[tuple[float, float]], confidence: float) -> Comparison:
    """A ratio by its logarithm and the parts of its variance, each with its degrees of freedom."""
    degrees = effective_degrees(parts)
    half = t_quantile((1 + confidence) / 2, degrees) * math.sqrt(math.fsum(standard**2 for standard, _ in parts))
    ratio = Interval(math.exp(difference), math.exp(difference - half), math.exp(difference + half))
    return Comparison(ratio, "welch", degrees)


def spread_of_sessions(sessions: Sequence[Sequence[float]]) -> float:
    """Relative standard deviation between sessions of one model, beyond what the spread of their runs explains.

    The variance of the sessions' mean logarithms less the mean variance of those means; 0 if nothing is left.
    ValueError for fewer than two sessions or a session of fewer than two runs.
    """
    return _beyond_runs([_logarithms(session) for session in sessions])


def _beyond_runs(logs: Sequence[Sequence[float]]) -> float:
    explained = mean([sample_sd(session) ** 2 / len(session) for session in logs])
    return math.sqrt(max(sample_sd([mean(session) for session in logs]) ** 2 - explained, 0.0))


class Answer(Enum):
    """What a gate says."""

    PASS = "pass"
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"
    """The interval holds the limit: neither can be said at this confidence."""


@dataclass(frozen=True)
class Limit:
    """How much a figure may change, as `METRIC:+X%` (growth is worse) or `METRIC:-X%` (loss is worse)."""

    metric: str
    change: float
    """Relative and signed: 0.01 for `+1%`."""


def parse_limit(text: str) -> Limit:
    """`energy_per_execution:+1%` as a Limit; ConfigError for anything else."""
    match = re.fullmatch(r"([\w.-]+):([+-]\d+(?:\.\d+)?)%", text)
    if match is None:
        raise ConfigError(f"{text!r} is not METRIC:+X% or METRIC:-X%, e.g. energy_per_execution:+1%")
    change = float(match[2]) / 100
    if change <= -1:
        raise ConfigError(f"{text!r}: a figure cannot fall by 100 % or more")
    return Limit(match[1], math.copysign(change, -1 if match[2].startswith("-") else 1))


def judge(ratio: Interval, change: float) -> Answer:
    """Regression if the whole interval lies beyond the limit, pass if it lies before it, else inconclusive.

    A limit of -0 (`METRIC:-0%`) forbids any loss, +0 any growth.
    """
    limit = 1 + change
    beyond, before = ratio.low > limit, ratio.high < limit
    if math.copysign(1, change) < 0:
        beyond, before = before, beyond
    return Answer.REGRESSION if beyond else Answer.PASS if before else Answer.INCONCLUSIVE
