"""How much of the processor a window used, per core and in all, with and without the observer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.counters import bracketed, increase, increments
from telemetry.figures.figure import Figure, Quality, figure
from telemetry.figures.pieces import Pieces, cut, quality
from telemetry.figures.repeatable import mean
from telemetry.model import Series, Window

BUSY = "busy."
TOTAL = "total."
OBSERVER = "cpu_seconds"

LONGEST_EDGE_IN_PERIODS = 3
"""The counters are read between samples only at the edges; in a longer interval the load may have changed."""
LEAST_WINDOW_IN_PERIODS = 2


def core_shares(series: Series, window: Window) -> dict[str, Figure]:
    """Busy share of each core (`cpu0`...): delta busy / delta total. Source: measurement_rules.md, Counters."""
    found = _edges_known(series, window)
    shares = {}
    for core in cores(series):
        total = increase(series, TOTAL + core, window)
        if total <= 0:
            raise NotCovered(f"the time of {core} did not advance in the window: the core was offline or unread")
        shares[core] = figure("core_share", increase(series, BUSY + core, window) / total, found, part=core)
    return shares


def system_share(series: Series, window: Window) -> Figure:
    """Mean of the cores' shares over the window, the observer included. Source: c2fdeploy.txt, Eq. 21."""
    shares = core_shares(series, window)
    found = next(iter(shares.values())).quality
    return figure("system_share", mean(np.array([share.value for share in shares.values()])), found)


def system_share_of_intervals(series: Series, window: Window) -> Figure:
    """The paper's estimate: temporal mean of per-interval percentages. Source: c2fdeploy.txt, Eq. 21.

    Uses the samples inside the window; equals system_share only for equal intervals.
    """
    inside = (series.t_ns >= window.start_ns) & (series.t_ns <= window.end_ns)
    times = series.t_ns[inside]
    if times.size < 2:
        raise NotCovered(
            f"stream {series.stream.name} has no whole interval inside the window of {window.seconds:.3f} s"
        )
    pieces = cut(series.t_ns, Window(int(times[0]), int(times[-1])))
    per_core = [
        increments(series, BUSY + core, pieces) / increments(series, TOTAL + core, pieces) for core in cores(series)
    ]
    return figure("system_share_of_intervals", mean(np.concatenate(per_core)), _quality(series, pieces))


def observer_seconds(series: Series, window: Window) -> Figure:
    """CPU time that one observer process used in the window. Source: measurement_rules.md, Counters."""
    used = increase(series, OBSERVER, window)
    return figure("observer_seconds", used, _quality(series, bracketed(series, window)))


def system_share_net(gross: Figure, observers: Sequence[Figure], core_count: int, window: Window) -> Figure:
    """What is left of `gross` without the observer's processes. Source: measurement_rules.md, Counters."""
    used = sum(observer.value for observer in observers)
    return figure("system_share_net", gross.value - used / (core_count * window.seconds), gross.quality)


def cores(series: Series) -> list[str]:
    """Names of the cores, `cpu0` first; NotCovered if there are none."""
    found = [
        described.name.removeprefix(BUSY) for described in series.stream.columns if described.name.startswith(BUSY)
    ]
    if not found:
        raise NotCovered(f"stream {series.stream.name} describes no core")
    return found


def _edges_known(series: Series, window: Window) -> Quality:
    pieces = bracketed(series, window)
    period_ns = series.stream.period_ns
    if window.end_ns - window.start_ns < LEAST_WINDOW_IN_PERIODS * period_ns:
        raise NotCovered(
            f"the window of {window.seconds:.3f} s is shorter than {LEAST_WINDOW_IN_PERIODS} samples of "
            f"{series.stream.name}, {period_ns / 1e9:g} s apart"
        )
    edge = int(max(pieces.intervals_ns[0], pieces.intervals_ns[-1]))
    if edge > LONGEST_EDGE_IN_PERIODS * period_ns:
        raise NotCovered(
            f"an edge of the window lies in a gap of {edge / 1e9:.3f} s of stream {series.stream.name}, "
            f"{LONGEST_EDGE_IN_PERIODS} periods of {period_ns / 1e9:g} s allowed"
        )
    return _quality(series, pieces)


def _quality(series: Series, pieces: Pieces) -> Quality:
    return quality(series, pieces, LONGEST_EDGE_IN_PERIODS * series.stream.period_ns)
