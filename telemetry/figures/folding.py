"""Energy of each part of an execution, from many readings of a slow sensor folded on completion times.

After Lang and Rünger (Euro-Par 2013): repeats of one execution are seen at ever other phases. A reading averages power
over a known span of known phases, so readings are linear in the power of the parts and least squares separates them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.averaging import triangle_weights
from telemetry.figures.energy import per_execution
from telemetry.figures.phases import Phases, execution_phases
from telemetry.figures.pieces import column
from telemetry.figures.power import WATTS, averaging_ns
from telemetry.figures.within_run import RESEMBLANCE, lag_1_correlation
from telemetry.model import Float64Array, Int64Array, Series, Window
from telemetry.stats import Interval, t_quantile

HOST = "host"
SHORT_RUNS = "short runs"
MOST_CONDITION = 30.0
"""Above, readings hardly tell the parts apart: an error of the sensor's window of 1 % moves power by up to 30 %."""
WIDEST = 0.25
"""A part whose interval is wider than this share of its energy, either way, is refused."""
MOST_BLOCKS = 32
LEAST_BLOCKS = 8
EXPLAINED = 1e-4
"""How much of a reading may lie outside the executions seen: rounding after an hour, no more."""
LEAST_BLOCK_READINGS = 20
"""Errors of neighbouring readings resemble each other; those of blocks this long hardly do."""


@dataclass(frozen=True)
class Segment:
    """One part of an execution; intervals are of 95 % and leave out what is common to all parts (the sensor's gain)."""

    name: str
    """`run 1` for a run of the compute unit, `host after run 1` for a long stay outside, `host` for all short ones."""
    kind: Literal["dpu", "host"]
    seconds: float
    """Mean length in one execution."""
    watts: Interval
    joules: Interval
    """In one execution."""


@dataclass(frozen=True)
class Folding:
    """One run's executions, folded."""

    segments: tuple[Segment, ...]
    refused: Mapping[str, str]
    """Parts without a figure, and why."""
    joules: Interval
    """Sum over all parts, refused ones included."""
    total_joules: float
    """Energy per execution by plain integration, for comparison."""
    executions: int
    left_out: int
    readings: int
    condition: float
    """Of the design matrix with columns of unit length; 1 is best."""
    independent: bool
    """False if errors resemble each other over long stretches (executions nearly in step with readings): intervals are
    too narrow."""


@dataclass(frozen=True)
class _Parts:
    """Which part each stretch of an execution belongs to; stretches are host, run 1, host, ..., run k, host."""

    names: tuple[str, ...]
    of_stretch: Int64Array
    seconds: Float64Array
    """Mean length of each part, shape (parts,)."""
    seconds_u: Float64Array
    """Standard uncertainty of those lengths, for edges lie between samples."""
    too_short: Mapping[str, str]


def fold(power: Series, cu: Series, cu_name: str, completions_ns: Int64Array, window: Window, runs: int) -> Folding:
    """Power and energy of each of the `runs` runs of one execution, and of the host around them.

    Executions must follow one another on one thread. Raises NotCovered, with the reason, where W is unknown, no run is
    longer than W, or readings do not tell the parts apart. Source: docs/folding.md.
    """
    averaged = averaging_ns(power.stream)
    if averaged is None:
        raise NotCovered(f"stream {power.stream.name} has no known averaging time: kvbench doctor measures it")
    phases = execution_phases(cu, cu_name, completions_ns, window, runs)
    parts = _parts(phases, averaged)
    weights, watts = _readings(power, phases, parts, averaged)
    fit = _solve(weights, watts, parts.names)
    quantile = t_quantile(0.975, fit.blocks - 1)
    segments, refused = _segments(parts, fit.watts, np.sqrt(np.diag(fit.covariance)), quantile)
    total = float(parts.seconds @ fit.watts)
    half = quantile * math.sqrt(float(parts.seconds @ fit.covariance @ parts.seconds))
    return Folding(
        segments=tuple(segments),
        refused=refused,
        joules=_around(total, half),
        total_joules=per_execution(power, completions_ns, window).total.value,
        executions=len(phases.end_ns),
        left_out=phases.left_out,
        readings=len(watts),
        condition=fit.condition,
        independent=fit.independent,
    )


def _segments(
    parts: _Parts, watts: Float64Array, watts_u: Float64Array, quantile: float
) -> tuple[list[Segment], dict[str, str]]:
    """Parts with figures, and parts without and why."""
    segments, refused = [], dict(parts.too_short)
    contrast = float(np.ptp(watts))
    for name, seconds, seconds_u, value, error in zip(
        parts.names, parts.seconds.tolist(), parts.seconds_u.tolist(), watts.tolist(), watts_u.tolist(), strict=True
    ):
        # A misplaced edge gives a part of its neighbour's power, and energy by its own.
        half = quantile * math.hypot(error, contrast * seconds_u / seconds)
        half_joules = quantile * math.hypot(error * seconds, value * seconds_u)
        if half_joules > WIDEST * abs(value) * seconds and name != HOST:
            share = half_joules / abs(value * seconds)
            refused[name] = f"its energy is known to ± {share:.0%} only: measure for longer"
        elif name not in refused:
            kind: Literal["dpu", "host"] = "host" if name.startswith(HOST) else "dpu"
            segments.append(Segment(name, kind, seconds, _around(value, half), _around(value * seconds, half_joules)))
    return segments, refused


def _around(value: float, half: float) -> Interval:
    return Interval(value, value - half, value + half)


def _parts(phases: Phases, averaged: int) -> _Parts:
    """Long stretches are parts of their own; short ones are pooled, those of the host apart from runs.

    A stretch shorter than W is never alone in a reading: what would be told of it rests on W being exact.
    """
    lengths = np.diff(_bounds(phases), axis=1).mean(axis=0)
    # What follows the last run and what precedes the first one lie side by side.
    around = lengths[0] + lengths[-1]
    names: list[str] = []
    too_short = {}
    for stretch, length in enumerate(lengths):
        run = (stretch + 1) // 2
        if stretch % 2:
            name = f"run {run}"
            if length < averaged:
                too_short[name] = f"lasts {length / 1e6:.1f} ms, the sensor averages over {averaged / 1e6:.1f} ms"
                name = SHORT_RUNS
        elif stretch in (0, len(lengths) - 1):
            name = f"{HOST} between executions" if around >= averaged else HOST
        else:
            name = f"{HOST} after run {run}" if length >= averaged else HOST
        names.append(name)
    if len(too_short) == phases.runs:
        longest = lengths[1::2].max()
        raise NotCovered(
            f"no run of the compute unit is as long as the sensor's averaging time: the longest lasts "
            f"{longest / 1e6:.1f} ms, the sensor averages over {averaged / 1e6:.1f} ms"
        )
    if too_short:
        too_short[SHORT_RUNS] = "pooled from the runs that are too short"
    distinct = tuple(dict.fromkeys(names))
    of_stretch = np.array([distinct.index(name) for name in names], np.int64)
    seconds = np.asarray(np.bincount(of_stretch, weights=lengths / 1e9, minlength=len(distinct)), np.float64)
    edges_u = np.concatenate([[0.0], phases.edges_u_ns, [0.0]]) / 1e9
    squares = np.bincount(of_stretch, weights=edges_u[:-1] ** 2 + edges_u[1:] ** 2, minlength=len(distinct))
    seconds_u: Float64Array = np.sqrt(squares)
    present = seconds > 0
    kept = tuple(name for name, here in zip(distinct, present, strict=True) if here)
    of_stretch = np.array([kept.index(name) if name in kept else 0 for name in names], np.int64)
    return _Parts(kept, of_stretch, seconds[present], seconds_u[present], too_short)


def _bounds(phases: Phases) -> Float64Array:
    """Begin, edges and end of each execution, shape (n, 2 k + 2)."""
    begin, end = (np.asarray(t - phases.origin_ns, np.float64)[:, None] for t in (phases.begin_ns, phases.end_ns))
    return np.hstack([begin, phases.edges_ns, end])


def _readings(power: Series, phases: Phases, parts: _Parts, averaged: int) -> tuple[Float64Array, Float64Array]:
    """The share of each part in each reading, shape (readings, parts), and the readings that are wholly explained.

    The register holds an average over W that is itself up to W old (measurement_rules.md, The power sensor): over many
    readings of unknown age, the weight of an instant is the triangle over [t - 2 W, t].
    """
    bounds = _bounds(phases)
    starts, ends = bounds[:, :-1].ravel() / 1e9, bounds[:, 1:].ravel() / 1e9
    label = np.tile(parts.of_stretch, len(bounds))
    averaged_seconds = averaged / 1e9
    t = (power.t_ns - phases.origin_ns) / 1e9
    inside = (t - 2 * averaged_seconds >= starts[0]) & (t <= ends[-1])
    t, watts = t[inside], np.asarray(column(power, WATTS), np.float64)[inside]
    weights = np.stack(
        [
            triangle_weights(t, averaged_seconds, starts[label == part], ends[label == part])
            for part in range(len(parts.names))
        ],
        axis=1,
    )
    explained = np.abs(weights.sum(axis=1) - 1) < EXPLAINED
    _require_spread(t[explained], starts[:: bounds.shape[1] - 1], averaged_seconds)
    return weights[explained], watts[explained]


def _require_spread(t: Float64Array, begins: Float64Array, averaged_seconds: float) -> None:
    """Refuse readings that keep step with executions: the ages of their averages would then not average out."""
    if t.size < 2 or begins.size < 2:
        return
    phases = np.sort(t - begins[np.searchsorted(begins, t, side="right") - 1])
    widest = float(np.diff(phases).max())
    if widest > averaged_seconds / 2:
        raise NotCovered(
            f"executions keep step with the sensor's readings, none of which falls into {widest * 1e3:.1f} ms of them: "
            "another period of readings or of executions is needed"
        )


@dataclass(frozen=True)
class _Fit:
    """Least squares: power of each part, its covariance, and how far that can be trusted."""

    watts: Float64Array
    covariance: Float64Array
    blocks: int
    independent: bool
    condition: float


def _solve(weights: Float64Array, watts: Float64Array, names: Sequence[str]) -> _Fit:
    count, width = weights.shape
    blocks = min(MOST_BLOCKS, count // LEAST_BLOCK_READINGS)
    least = max(LEAST_BLOCKS, width + 1)
    if blocks < least:
        raise NotCovered(
            f"{count} readings lie in executions seen whole, {LEAST_BLOCK_READINGS * least} needed: measure for longer"
        )
    norms = np.linalg.norm(weights, axis=0)
    if not np.all(norms > 0):
        raise NotCovered(f"no reading covers {names[int(np.argmin(norms))]}")
    condition = float(np.linalg.cond(weights / norms))
    if condition > MOST_CONDITION:
        raise NotCovered(
            f"readings hardly tell the parts apart (condition {condition:.0f}, at most {MOST_CONDITION:.0f}): "
            "parts are too short for the sensor"
        )
    inverse = np.linalg.inv(weights.T @ weights)
    found = inverse @ (weights.T @ watts)
    influences = weights * (watts - weights @ found)[:, None] @ inverse
    sums = np.stack([block.sum(axis=0) for block in np.array_split(influences, blocks)])
    sums, independent = _merged(sums, least)
    blocks = len(sums)
    covariance = sums.T @ sums * (blocks / (blocks - 1) * (count - 1) / (count - width))
    return _Fit(found, covariance, blocks, independent, condition)


def _merged(sums: Float64Array, least: int) -> tuple[Float64Array, bool]:
    """Blocks merged in pairs while neighbours resemble each other, as batch means are; whether they no longer do."""
    while True:
        count = len(sums)
        limit = RESEMBLANCE / math.sqrt(count)
        resembling = any(lag_1_correlation(part.tolist()) > limit for part in sums.T)
        if not resembling or count // 2 < least:
            return sums, not resembling
        tail = sums[count // 2 * 2 :].sum(axis=0)
        sums = sums[: count // 2 * 2].reshape(count // 2, 2, -1).sum(axis=1)
        sums[-1] += tail
