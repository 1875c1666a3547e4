"""Sensors that answer but do not tell the truth: stuck values, lost interrupts, clocks that changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.figures.busy import held_states
from telemetry.figures.pieces import column
from telemetry.figures.power import WATTS, averaging_ns
from telemetry.model import Int64Array, Series, Window

STUCK_NS = 1_000_000_000
"""A hundred conversions of an INA260 with one and the same result."""
STUCK_BUSY_SPREAD = 0.2
"""Load that varies by a fifth of the accelerator's power from one reading to the next must show: on a KV260 that is
0.7 W, seventy steps of the sensor."""
LEAST_SLICE_NS = 8_000_000
"""Busy shares are taken over at least this span, so that each rests on several samples."""
LOST_INTERRUPT_NS = 400_000_000
"""The driver looks again after half a second without an interrupt (board.md, section 1.5)."""
LOST_INTERRUPT_FACTOR = 4
"""How many times longer than usual a run must seem before its interrupt counts as lost."""


@dataclass(frozen=True)
class Stuck:
    """A span in which readings did not change although the load did."""

    span: Window
    watts: float
    busy_low: float
    busy_high: float
    """Lowest and highest busy share over single readings in the span."""


def stuck_power(power: Series, cu: Series, cu_name: str, window: Window) -> Stuck | None:
    """The longest span of identical readings in the window, if the compute unit's load varied in it.

    Identical readings alone prove nothing: a steady load repeats on steps of 10 mW
    (measurement_rules.md, The power sensor).
    """
    inside = slice(*np.searchsorted(power.t_ns, [window.start_ns, window.end_ns + 1]))
    times, watts = power.t_ns[inside], column(power, WATTS)[inside]
    if times.size < 2:
        return None
    starts = np.concatenate(([0], np.flatnonzero(np.diff(watts)) + 1))
    ends = np.concatenate((starts[1:], [times.size])) - 1
    longest = int(np.argmax(times[ends] - times[starts]))
    span = Window(int(times[starts[longest]]), int(times[ends[longest]]))
    if span.end_ns - span.start_ns < STUCK_NS:
        return None
    averaged = averaging_ns(power.stream) or 0
    shares = _busy_by_slice(cu, cu_name, span, max(averaged, LEAST_SLICE_NS))
    if shares.size == 0 or shares.max() - shares.min() < STUCK_BUSY_SPREAD:
        return None
    return Stuck(span, float(watts[starts[longest]]), float(shares.min()), float(shares.max()))


def _busy_by_slice(
    cu: Series, cu_name: str, span: Window, slice_ns: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Share of busy samples in each slice of a span that has any."""
    inside = slice(*np.searchsorted(cu.t_ns, [span.start_ns, span.end_ns]))
    states, times = held_states(cu, cu_name, inside), cu.t_ns[inside]
    known = ~np.isnan(states)
    slices = (times[known] - span.start_ns) // slice_ns
    counts = np.bincount(slices) if slices.size else np.zeros(0)
    return np.asarray(
        (np.bincount(slices, weights=states[known]) if slices.size else counts)[counts > 0] / counts[counts > 0]
    )


def lost_interrupts(cu: Series, cu_name: str, window: Window) -> list[Window]:
    """Spans in which the unit seemed busy for half a second, far longer than its usual run (board.md, section 1.5)."""
    inside = slice(*np.searchsorted(cu.t_ns, [window.start_ns, window.end_ns + 1]))
    busy = held_states(cu, cu_name, inside) == 1.0
    begins, ends = _stretches(busy, cu.t_ns[inside])
    lengths = ends - begins
    if lengths.size < 2:
        return []
    usual = float(np.median(lengths))
    found = np.flatnonzero((lengths >= LOST_INTERRUPT_NS) & (lengths >= LOST_INTERRUPT_FACTOR * max(usual, 1.0)))
    return [Window(int(begins[i]), int(ends[i])) for i in found]


def _stretches(busy: np.ndarray[tuple[int], np.dtype[np.bool_]], times: Int64Array) -> tuple[Int64Array, Int64Array]:
    """First and last sample time of each unbroken stretch of busy samples."""
    edges = np.diff(np.concatenate(([False], busy, [False])).astype(np.int8))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return times[first], times[last]


def changed_clocks(frequency: Series, window: Window, tolerance: float = 0.01) -> dict[str, tuple[float, float]]:
    """Lowest and highest hertz, by column, of clocks that varied in the window by more than `tolerance`."""
    inside = (frequency.t_ns >= window.start_ns) & (frequency.t_ns <= window.end_ns)
    found = {}
    for name, samples in frequency.values.items():
        if name.startswith("hertz.") and np.any(inside):
            low, high = float(samples[inside].min()), float(samples[inside].max())
            if high - low > tolerance * high:
                found[name.removeprefix("hertz.")] = (low, high)
    return found
