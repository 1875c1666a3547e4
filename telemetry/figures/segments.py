"""Finding a run in a power series that has no markers: the one span that stands out from idle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.pieces import column
from telemetry.figures.power import WATTS
from telemetry.model import Float64Array, Series, Window

ROUNDS = 50
"""The levels settle within a handful of rounds; more means they alternate between two equally good answers."""
LEAST_CONTRAST = 2.0
"""The step must be twice the spread around both levels, or idle and load are not two levels."""
LEAST_SCORE = 10.0
"""Step over its standard error; the best span of pure noise reaches about 5 in a thousand readings."""


@dataclass(frozen=True)
class Segment:
    """A run between two spans of idle."""

    window: Window
    """Its edges lie where the reading of the step would cross half way."""
    idle_watts: float
    """Mean of the readings outside."""
    busy_watts: float
    """Mean of the readings inside."""


def find_run(series: Series) -> Segment:
    """The span whose mean differs most clearly from everything outside it, at two levels found from the data.

    The span maximises the sum of (P - middle of both levels), and the levels are the means inside and outside of it,
    in turn until they agree: the two-level step function of least squares, without a threshold chosen beforehand.
    Raises NotCovered if there are no two levels or no idle around the span.
    """
    watts = np.asarray(column(series, WATTS), dtype=np.float64)
    if watts.size < 4:
        raise NotCovered(f"stream {series.stream.name} has {watts.size} readings: too few to find a run in")
    middle = (float(watts.min()) + float(watts.max())) / 2
    begin, end = 0, watts.size
    for _ in range(ROUNDS):
        found = best_span(watts - middle)
        if found == (begin, end):
            break
        begin, end = found
        inside, outside = watts[begin:end], np.concatenate((watts[:begin], watts[end:]))
        if inside.size < 2 or outside.size < 2:
            break
        middle = (float(inside.mean()) + float(outside.mean())) / 2
    return _judged(series, watts, begin, end)


def best_span(scores: Float64Array) -> tuple[int, int]:
    """Begin and end (exclusive) of the contiguous span with the largest sum, in one pass."""
    sums = np.concatenate(([0.0], np.cumsum(scores)))
    lowest = np.minimum.accumulate(sums)
    end = int(np.argmax(sums - lowest))
    begin = int(np.argmin(sums[: end + 1]))
    return begin, end


def _judged(series: Series, watts: Float64Array, begin: int, end: int) -> Segment:
    inside, outside = watts[begin:end], np.concatenate((watts[:begin], watts[end:]))
    if begin == 0 or end == watts.size or inside.size < 2:
        raise NotCovered(f"stream {series.stream.name} shows no idle before and after a run")
    idle, busy = float(outside.mean()), float(inside.mean())
    spread = float(np.sqrt((inside.var() * inside.size + outside.var() * outside.size) / watts.size))
    error = spread * float(np.sqrt(1 / inside.size + 1 / outside.size))
    if busy - idle < LEAST_CONTRAST * spread or busy - idle < LEAST_SCORE * error:
        raise NotCovered(f"stream {series.stream.name} shows no run: its readings do not form two levels")
    start_ns = _crossing(series, watts, begin - 1, (idle + busy) / 2)
    end_ns = _crossing(series, watts, end - 1, (idle + busy) / 2)
    return Segment(Window(start_ns, end_ns), idle, busy)


def _crossing(series: Series, watts: Float64Array, left: int, level: float) -> int:
    """Where the line from sample `left` to the next one crosses `level`; half way if it does not."""
    before, after = float(watts[left]), float(watts[left + 1])
    crosses = min(before, after) <= level <= max(before, after) and before != after
    share = (level - before) / (after - before) if crosses else 0.5
    return int(series.t_ns[left]) + round(share * int(series.t_ns[left + 1] - series.t_ns[left]))
