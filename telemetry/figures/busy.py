"""How busy a compute unit was, and how often it was started, from samples of its status word.

The status is a software copy that a kernel thread refreshes: busy includes interrupt and wake-up time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from telemetry.errors import NotCovered
from telemetry.figures.figure import Figure, Quality, figure
from telemetry.figures.pieces import Pieces, areas, column, cut, quality, require_covered
from telemetry.figures.repeatable import total
from telemetry.model import Float64Array, Int64Array, Series, Window

Values = TypeVar("Values", Float64Array, Int64Array)

AP_IDLE = 0x4
CRASHED = 0xFFFF_FFFF

MAX_INTERVAL_NS = 5_000_000
"""A longer span without a sample counts as not covered (measurement_rules.md, Compute unit)."""
MIN_COVERED = 0.98
"""Lateness correlates with the compute unit's state, so what was not seen may be all busy or all idle:
2 % unseen is up to 2 points of doubt, and a figure with more is no figure."""
INCLUDES = "busy includes interrupt and wake-up time: the status is a software copy"


@dataclass(frozen=True)
class LatenessByState:
    """How late samples were, split by what the compute unit was doing; None where it was never in that state."""

    busy_p99_ns: int | None
    idle_p99_ns: int | None


def busy_share(series: Series, cu_name: str, window: Window) -> Figure:
    """Share of time in which bit 2 (ap_idle) of the status was 0, each sample weighing (t[i+1] - t[i-1]) / 2.

    Intervals above 5 ms are left out of both sums. Source: measurement_rules.md, Compute unit.
    """
    pieces, states, found = _observed(series, cu_name, window)
    kept = pieces.intervals_ns <= MAX_INTERVAL_NS
    seconds = total(_chosen(areas(pieces, states), kept))
    share = seconds * 1e9 / int(_chosen(pieces.lengths_ns, kept).sum())
    return figure("busy_share", min(max(share, 0.0), 1.0), found)


def busy_share_left_hold(series: Series, cu_name: str, window: Window) -> Figure:
    """The paper's estimate, each sample held until the next one. Source: c2fdeploy.txt, Eq. 20."""
    pieces, states, found = _observed(series, cu_name, window)
    kept = pieces.intervals_ns <= MAX_INTERVAL_NS
    held_ns = states[:-1]
    held_ns *= pieces.lengths_ns
    return figure(
        "busy_share_left_hold", total(_chosen(held_ns, kept)) / int(_chosen(pieces.lengths_ns, kept).sum()), found
    )


def _chosen(values: Values, kept: npt.NDArray[np.bool_]) -> Values:
    """What is kept, without a copy where that is everything."""
    return values if kept.all() else values[kept]


def cu_runs(series: Series, cu_name: str, window: Window) -> Figure:
    """Commands of the compute unit from the last sample before the window to the first one after it.

    A count over whole runs: commands in flight at an edge are counted too, so an edge inside activity is uncertain by
    as many as there are threads. Completions are counted where the driver offers them, else dispatches
    (measurement_rules.md, Compute unit). Raises NotCovered if the counter went back (firmware reloaded).
    """
    name = f"completed.{cu_name}" if f"completed.{cu_name}" in series.values else f"usage.{cu_name}"
    counts = column(series, name)
    first = int(np.searchsorted(series.t_ns, window.start_ns, side="right")) - 1
    last = int(np.searchsorted(series.t_ns, window.end_ns, side="left"))
    if first < 0 or last >= series.t_ns.size:
        raise NotCovered(f"stream {series.stream.name} was not sampled before and after the run: no CU runs to count")
    if np.any(np.diff(counts[first : last + 1]) < 0):
        raise NotCovered(f"counter {name} went back inside the window: the firmware was reloaded")
    found = quality(series, cut(series.t_ns, window), MAX_INTERVAL_NS)
    note = "commands completed" if name.startswith("completed.") else "commands dispatched"
    return figure("cu_runs", float(counts[last] - counts[first]), found.noting(note))


def lateness_by_state(series: Series, cu_name: str, window: Window) -> LatenessByState:
    """99th percentile of lateness of busy and of idle samples (measurement_rules.md, Compute unit)."""
    inside = slice(*np.searchsorted(series.t_ns, [window.start_ns, window.end_ns + 1]))
    return _by_state(held_states(series, cu_name, inside), series.late_ns[inside])


def _by_state(states: Float64Array, late_ns: Int64Array) -> LatenessByState:
    found = []
    for state in (1.0, 0.0):
        late = late_ns[states == state]
        found.append(int(np.percentile(late, 99, overwrite_input=True)) if late.size else None)
    return LatenessByState(*found)


def held_states(series: Series, cu_name: str, samples: slice = slice(None)) -> Float64Array:
    """1.0 busy, 0.0 idle, NaN unknown or crashed, one per sample of the slice.

    0x0 says nothing and holds the last state, which may have been read before the slice begins.
    """
    status = np.asarray(column(series, f"status.{cu_name}"), dtype=np.int64)
    start, stop, _ = samples.indices(status.size)
    known_from = start
    while known_from > 0 and status[known_from] == 0:
        known_from -= 1
    held = _last_known(status[known_from:stop])
    idle = (held & AP_IDLE).astype(bool)
    states = np.where(idle, 0.0, 1.0)
    states[(held == 0) | (held == CRASHED)] = np.nan
    return states[start - known_from :]


def _last_known(status: Int64Array) -> Int64Array:
    """Each 0x0 replaced by the last status before it that says something."""
    says_nothing = status == 0
    if not says_nothing.any():
        return status
    places = np.arange(status.size, dtype=np.int32)
    places[says_nothing] = 0
    found: Int64Array = status[np.maximum.accumulate(places)]
    return found


def _observed(series: Series, cu_name: str, window: Window) -> tuple[Pieces, Float64Array, Quality]:
    """The pieces of the window, the state at each of their ends and their quality; refuses what is not covered."""
    pieces = cut(series.t_ns, window)
    around = slice(pieces.first, pieces.first + pieces.t_ns.size)
    if np.any(column(series, f"status.{cu_name}")[around] == CRASHED):
        raise NotCovered(f"{cu_name} reported 0xffffffff in the window: the driver gave it up; reload the firmware")
    found = quality(series, pieces, MAX_INTERVAL_NS)
    require_covered(series, window, found, MIN_COVERED)
    states = held_states(series, cu_name, around)
    if np.any(np.isnan(states)):
        raise NotCovered(f"the state of {cu_name} is unknown at the start of the window: it had only read 0x0 so far")
    inside = slice(*np.searchsorted(pieces.t_ns, [window.start_ns, window.end_ns + 1]))
    late = _by_state(states[inside], series.late_ns[around][inside])
    return pieces, states, found.noting(INCLUDES, _lateness_note(late))


def _lateness_note(late: LatenessByState) -> str:
    def text(value_ns: int | None) -> str:
        return "none seen" if value_ns is None else f"{value_ns / 1e6:.2f} ms"

    return f"p99 lateness while busy {text(late.busy_p99_ns)}, while idle {text(late.idle_p99_ns)}"
