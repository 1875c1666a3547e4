"""How well the mean of one run is known: batch means, because samples of one run are not independent."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.power import averaging_ns, energy_joules, mean_watts
from telemetry.model import Int64Array, Series, Window
from telemetry.stats import mean, sample_sd

MOST_BATCHES = 32
LEAST_BATCHES = 8
"""Fewer say too little about their own spread: the standard error of 8 is itself uncertain by a quarter."""
RESEMBLANCE = 1.645
"""The lag-1 correlation of k independent values has a standard error of 1 / sqrt(k); one-sided, at 5 %."""
LEAST_BATCH_IN_READINGS = 10
"""A batch of fewer readings (or averaging times) is as correlated with the next as single readings are."""


@dataclass(frozen=True)
class BatchMeans:
    """The mean of a run with its standard error from means of equal, adjacent batches."""

    mean: float
    standard_error: float
    batches: int
    independent: bool
    """False if neighbouring batches resemble each other at the smallest number of them: the error is too small."""


def batch_means(values: list[float]) -> BatchMeans:
    """Standard error of the mean of equal batches, merged in pairs while neighbours resemble each other.

    Neighbours resemble each other when their lag-1 correlation exceeds what chance gives one time in twenty.
    Source: measurement_rules.md, Energy and executions. ValueError for fewer than two batches.
    """
    while True:
        k = len(values)
        resembling = lag_1_correlation(values) > RESEMBLANCE / math.sqrt(k)
        if not resembling or k // 2 < LEAST_BATCHES:
            return BatchMeans(mean(values), sample_sd(values) / math.sqrt(k), k, not resembling)
        values = [(values[i] + values[i + 1]) / 2 for i in range(0, k - 1, 2)]


def lag_1_correlation(values: list[float]) -> float:
    """Correlation of neighbours; 0 for values that do not vary."""
    centred = np.asarray(values) - mean(values)
    square = float(np.sum(centred**2))
    return float(np.sum(centred[:-1] * centred[1:])) / square if square > 0 else 0.0


def power_within_run(series: Series, window: Window) -> BatchMeans:
    """Mean power of a window with its standard error.

    Raises NotCovered if the window is too short for eight batches or a batch is not covered.
    """
    least_ns = LEAST_BATCH_IN_READINGS * max(series.stream.period_ns, averaging_ns(series.stream) or 0)
    count = min(MOST_BATCHES, (window.end_ns - window.start_ns) // least_ns)
    if count < LEAST_BATCHES:
        raise NotCovered(
            f"{window.seconds:.3f} s are too short to tell how well the mean of stream {series.stream.name} is known: "
            f"{LEAST_BATCHES * least_ns / 1e9:g} s are needed"
        )
    edges = np.linspace(window.start_ns, window.end_ns, count + 1).astype(np.int64)
    batches = [Window(int(begin), int(end)) for begin, end in itertools.pairwise(edges)]
    return batch_means([mean_watts(series, batch).value for batch in batches])


def seconds_within_run(completions_ns: Int64Array, window: Window) -> BatchMeans:
    """Seconds per execution between completions in a window, with their standard error.

    Raises NotCovered for fewer than nine completions.
    """
    edges = _batch_edges(completions_ns, window, 1)
    return batch_means([(end - begin) / 1e9 / count for begin, end, count in edges])


def energy_within_run(series: Series, completions_ns: Int64Array, window: Window) -> BatchMeans:
    """Joules per execution between completions in a window, with their standard error.

    Raises NotCovered if there are too few completions or readings for eight batches, or one is not covered.
    """
    least_ns = LEAST_BATCH_IN_READINGS * max(series.stream.period_ns, averaging_ns(series.stream) or 0)
    edges = _batch_edges(completions_ns, window, least_ns)
    return batch_means([energy_joules(series, Window(begin, end)).value / count for begin, end, count in edges])


def _batch_edges(completions_ns: Int64Array, window: Window, least_ns: int) -> list[tuple[int, int, int]]:
    """Adjacent batches of equally many executions: begin, end, number; each about `least_ns` long or longer."""
    inside = np.sort(completions_ns[(completions_ns >= window.start_ns) & (completions_ns <= window.end_ns)])
    executions = inside.size - 1
    count = min(MOST_BATCHES, executions)
    if executions > 0:
        count = min(count, int(inside[-1] - inside[0]) // least_ns)
    if count < LEAST_BATCHES:
        raise NotCovered(
            f"{max(executions, 0)} executions in {window.seconds:.3f} s make no {LEAST_BATCHES} batches: "
            "how well their mean is known cannot be told"
        )
    size = executions // count
    edges = [int(inside[batch * size]) for batch in range(count + 1)]
    return [(begin, end, size) for begin, end in itertools.pairwise(edges)]
