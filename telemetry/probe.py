"""The averaging time of a power sensor, measured: readings at 1 kHz while a load goes on and off.

Repeated readings do not tell it, for a steady load repeats itself in steps of the register; its answer to a load
that changes at known instants does (measurement_rules.md, The power sensor).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.averaging import triangle_weights
from telemetry.figures.busy import held_states
from telemetry.figures.pieces import column
from telemetry.figures.power import WATTS
from telemetry.model import Float64Array, Series
from telemetry.stats import mean, sample_sd, t_quantile

SHORTEST_SECONDS, LONGEST_SECONDS = 5e-4, 0.2
GRID = 48
REFINEMENTS = 30
BATCHES = 8
LEAST_EDGES = 4 * BATCHES
LEAST_EXPLAINED = 0.5
"""Share of the readings' variance that the load must explain; below, something else moves the power."""


@dataclass(frozen=True)
class AveragingTime:
    """What a sensor averages over."""

    seconds: float
    half_width: float
    """Of the interval of 95 %, from the spread of eight stretches of the measurement."""
    load_watts: float
    """What the load adds."""
    explained: float
    """Share of the variance of the readings that the load explains, 0 to 1."""


def averaging_time(power: Series, cu: Series, cu_name: str) -> AveragingTime:
    """The W that makes the compute unit's state, averaged over it, fit the readings best.

    Raises NotCovered if the load changed too seldom or does not show in the power.
    """
    starts, ends = busy_spans(cu, cu_name)
    if 2 * starts.size < LEAST_EDGES:
        raise NotCovered(f"the load went on and off {starts.size} times, {LEAST_EDGES // 2} needed")
    origin_ns = int(cu.t_ns[0])
    t = (power.t_ns - origin_ns) / 1e9
    watts = np.asarray(column(power, WATTS), np.float64)
    inside = (t >= 2 * LONGEST_SECONDS) & (t <= (int(cu.t_ns[-1]) - origin_ns) / 1e9)
    t, watts = t[inside], watts[inside]
    if t.size < LEAST_EDGES * BATCHES:
        raise NotCovered(f"{t.size} readings of {power.stream.name} under the load, {LEAST_EDGES * BATCHES} needed")
    seconds = _best(t, watts, starts, ends)
    load_watts, explained = _fitted(t, watts, seconds, starts, ends)
    if explained < LEAST_EXPLAINED or load_watts <= 0:
        raise NotCovered(
            f"the load explains {explained:.0%} of what {power.stream.name} shows, {LEAST_EXPLAINED:.0%} needed: "
            "something else draws power, or the model is too light"
        )
    batches = [
        _best(*pair, starts, ends)
        for pair in zip(np.array_split(t, BATCHES), np.array_split(watts, BATCHES), strict=True)
    ]
    half = t_quantile(0.975, BATCHES - 1) * sample_sd(batches) / math.sqrt(BATCHES)
    return AveragingTime(mean(batches), half, load_watts, explained)


def busy_spans(cu: Series, cu_name: str) -> tuple[Float64Array, Float64Array]:
    """Begin and end of each stretch in which the compute unit was seen busy, in seconds from its first sample."""
    busy = held_states(cu, cu_name) == 1.0
    change = np.flatnonzero(np.diff(busy.astype(np.int8)))
    edges = (cu.t_ns[change] + cu.t_ns[change + 1] - 2 * cu.t_ns[0]) / 2e9
    if busy[0]:
        edges = np.concatenate([[0.0], edges])
    if edges.size % 2:
        edges = np.concatenate([edges, [(cu.t_ns[-1] - cu.t_ns[0]) / 1e9]])
    return edges[::2], edges[1::2]


def _best(t: Float64Array, watts: Float64Array, starts: Float64Array, ends: Float64Array) -> float:
    """The averaging time of the least squared error: a grid over all, then golden sections around its best."""
    grid = np.geomspace(SHORTEST_SECONDS, LONGEST_SECONDS, GRID)
    explained = [_fitted(t, watts, float(seconds), starts, ends)[1] for seconds in grid]
    place = int(np.argmax(explained))
    low, high = float(grid[max(place - 1, 0)]), float(grid[min(place + 1, GRID - 1)])
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(REFINEMENTS):
        inner, outer = high - ratio * (high - low), low + ratio * (high - low)
        if _fitted(t, watts, inner, starts, ends)[1] > _fitted(t, watts, outer, starts, ends)[1]:
            high = outer
        else:
            low = inner
    return (low + high) / 2


def _fitted(
    t: Float64Array, watts: Float64Array, seconds: float, starts: Float64Array, ends: Float64Array
) -> tuple[float, float]:
    """Watts that the load adds if readings average over `seconds`, and the share of variance that explains."""
    weights = triangle_weights(t, seconds, starts, ends)
    weights, watts = weights - weights.mean(), watts - watts.mean()
    square, total = float(weights @ weights), float(watts @ watts)
    if square <= 0 or total <= 0:
        return 0.0, 0.0
    slope = float(weights @ watts) / square
    return slope, slope**2 * square / total
