"""Run values that do not belong together: warm-up, drift, outliers."""

from __future__ import annotations

from collections.abc import Sequence

from telemetry.findings.finding import Finding
from telemetry.stats import mean, relative_change, sample_sd, t_quantile

RELEVANT_CHANGE = 0.005
"""Half a percent: changes below it are below what a run can tell."""
OUTLIER_SCORE = 3.5
"""Modified z-score that Iglewicz and Hoaglin call an outlier."""


def slow_first_run(name: str, values: Sequence[float]) -> Finding | None:
    """The first formal run apart from all others: a warm-up that the smoke run did not cover. Needs four runs."""
    if len(values) < 4:
        return None
    first, rest = values[0], values[1:]
    apart = relative_change(mean(rest), first)
    limit = t_quantile(0.995, len(rest) - 1) * sample_sd(rest) * (1 + 1 / len(rest)) ** 0.5 / abs(mean(rest))
    if abs(apart) <= max(limit, RELEVANT_CHANGE):
        return None
    return Finding(
        "first-run-apart",
        "warning",
        f"{name} of the first run is {apart:+.2%} from the mean of the others",
        "add a smoke run (--smoke 2) or let the board reach its temperature first",
    )


def drift_over_runs(name: str, values: Sequence[float]) -> Finding | None:
    """A trend over runs that chance does not explain (slope over its standard error at 1 %). Needs four runs."""
    n = len(values)
    if n < 4:
        return None
    middle, centre = (n - 1) / 2, mean(values)
    square = sum((i - middle) ** 2 for i in range(n))
    slope = sum((i - middle) * (value - centre) for i, value in enumerate(values)) / square
    rest = sum((value - centre - slope * (i - middle)) ** 2 for i, value in enumerate(values))
    error = (rest / (n - 2) / square) ** 0.5
    total = slope * (n - 1) / abs(centre)
    if abs(total) <= RELEVANT_CHANGE or abs(slope) <= t_quantile(0.995, n - 2) * error:
        return None
    return Finding(
        "drift",
        "warning",
        f"{name} drifts by {total:+.2%} from the first run to the last",
        "compare models only in alternating order, and wait until temperatures are steady",
    )


def outlier_run(name: str, values: Sequence[float]) -> Finding | None:
    """One run far from the others by the modified z-score of medians. Needs five runs."""
    if len(values) < 5:
        return None
    centre = _median(values)
    spread = max(_median([abs(value - centre) for value in values]), 1e-4 * abs(centre))
    scores = [0.6745 * abs(value - centre) / spread for value in values]
    worst = max(range(len(values)), key=scores.__getitem__)
    apart = relative_change(centre, values[worst])
    if scores[worst] <= OUTLIER_SCORE or abs(apart) <= RELEVANT_CHANGE:
        return None
    return Finding(
        "outlier-run",
        "warning",
        f"{name} of run {worst + 1} is {apart:+.2%} from the median of {len(values)} runs",
        "look at that run's findings; repeat the session if nothing explains it",
    )


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
