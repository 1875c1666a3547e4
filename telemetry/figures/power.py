"""Mean power and energy of a rail over a window, from a power gauge or an energy counter."""

from __future__ import annotations

import math

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.counters import column_of, increase
from telemetry.figures.figure import Figure, Quality, figure
from telemetry.figures.pieces import areas, column, cut, quality, require_covered
from telemetry.figures.repeatable import sample_sd, total
from telemetry.model import Float64Array, Series, Stream, Window

WATTS = "watts"
JOULES = "joules"

LONGEST_IN_PERIODS = 10
"""A line between readings further apart than this many periods (or averaging times) is a guess, not a measurement."""
MIN_COVERED = 0.99
"""What was not seen may have drawn idle power: on a KV260, 5.0 of 8.7 W, so 1 % unseen is up to 0.4 % of the energy."""
PEAK_WATTS = 1000
"""More than any package or module draws: how fast an energy counter can turn at most."""
TRIM_IN_AVERAGING_TIMES = 2
"""Readings nearer to a change of load still average over it (measurement_rules.md, The power sensor)."""


def averaging_ns(stream: Stream) -> int | None:
    """W, the span that one reading averages over, or None where the board profile does not know it."""
    text = stream.attributes.get("averaging_ns")
    return None if text is None else int(float(text))


def least_trim_ns(stream: Stream) -> int:
    """How much to trim at each end of a window whose edges are changes of load: at least 2 W; 0 if W is unknown."""
    return TRIM_IN_AVERAGING_TIMES * (averaging_ns(stream) or 0)


def mean_watts(series: Series, window: Window) -> Figure:
    """Mean power over the window, the energy divided by its length. Source: c2fdeploy.txt, Eq. 28, weighted by time."""
    energy = energy_joules(series, window)
    return figure("power", energy.value / window.seconds, energy.quality)


def ripple_watts(series: Series, window: Window) -> Figure:
    """Standard deviation of the readings in the window: what an instant of the window's edges matters.

    Raises NotCovered for fewer than two readings.
    """
    averaged = averaging_ns(series.stream) or 0
    inside = slice(*np.searchsorted(series.t_ns, [window.start_ns + averaged, window.end_ns + averaged + 1]))
    watts = np.asarray(column(series, WATTS)[inside], np.float64)
    if watts.size < 2:
        raise NotCovered(f"stream {series.stream.name} has {watts.size} readings in the window, 2 needed")
    found = Quality(watts.size, watts.size / window.seconds, None, None, 1.0)
    return figure("power_ripple", sample_sd(watts), found)


def energy_joules(series: Series, window: Window) -> Figure:
    """Energy over the window from the `watts` or the `joules` column. Source: measurement_rules.md, The power sensor.

    A reading at t belongs to t - W. Gaps are bridged by a straight line, so that adjacent windows add up to their
    union; raises NotCovered when more than 1 % of the window would be bridged.
    """
    if JOULES in series.values:
        return _counted_joules(series, window)
    watts = column(series, WATTS)
    averaged = averaging_ns(series.stream)
    late_window = Window(window.start_ns + (averaged or 0), window.end_ns + (averaged or 0))
    pieces = cut(series.t_ns, late_window)
    found = quality(series, pieces, LONGEST_IN_PERIODS * max(series.stream.period_ns, averaged or 0))
    require_covered(series, window, found, MIN_COVERED)
    joules = total(areas(pieces, pieces.of(watts))) * (late_window.end_ns - late_window.start_ns)
    joules /= int(pieces.lengths_ns.sum())
    return figure("energy", joules, found.noting(*_notes(pieces.of(watts), averaged)))


def _counted_joules(series: Series, window: Window) -> Figure:
    joules = increase(series, JOULES, window)
    pieces = cut(series.t_ns, window)
    wrap = column_of(series, JOULES).wrap
    longest_ns = math.inf if wrap is None else wrap / PEAK_WATTS * 1e9
    if int(pieces.intervals_ns.max()) > longest_ns:
        raise NotCovered(
            f"stream {series.stream.name} has a gap of {int(pieces.intervals_ns.max()) / 1e9:.0f} s; "
            f"above {longest_ns / 1e9:.0f} s its energy counter may have wrapped unseen"
        )
    found = quality(series, pieces, longest_ns)
    return figure("energy", joules, found.noting("from an energy counter"))


def _notes(watts: Float64Array, averaged: int | None) -> list[str]:
    notes = [] if averaged is not None else ["averaging time unknown: readings are not moved"]
    if watts.size > 1:
        repeated = int(np.count_nonzero(np.diff(watts) == 0)) / (watts.size - 1)
        if repeated > 0:
            notes.append(f"{repeated:.0%} of readings repeat the one before")
    return notes
