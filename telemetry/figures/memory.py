"""External memory traffic from the counters of an AXI performance monitor."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.counters import bracketed, increase, increments
from telemetry.figures.figure import Figure, figure
from telemetry.figures.pieces import Pieces, quality
from telemetry.figures.throughput import ExecutionSpan, whole_executions
from telemetry.model import Int64Array, Series, Window

PORT_PEAK_BYTES_PER_SECOND = 8.5e9
"""What one 128-bit port moves at most (measurement_rules.md, Counters)."""
CLOCK = "clock"
CLOCK_TOLERANCE = 2.0
"""The monitor's clock may seem this many times faster or slower in one interval (a reader put off between its clock
reads); a reset or a stop looks far stranger."""


def port_bytes(series: Series, window: Window) -> dict[str, Figure]:
    """Bytes of each port and direction over the window, by column name. Source: measurement_rules.md, Counters."""
    pieces = _unambiguous(series, window)
    found = quality(series, pieces, _longest_ns(series))
    return {
        described.name: figure("bytes", increase(series, described.name, window), found, part=described.name)
        for described in series.stream.columns
        if described.name != CLOCK
    }


def bandwidth(series: Series, window: Window, slots: Collection[str] | None = None) -> dict[str, Figure]:
    """Bytes per second, `read`, `write` and `total` over the given slots (`slot1`...), all of them by default.

    Source: c2fdeploy.txt, Eq. 22.
    """
    moved = _directions(port_bytes(series, window), slots)
    found = quality(series, bracketed(series, window), _longest_ns(series))
    return {way: figure("bandwidth", sum_ / window.seconds, found, part=way) for way, sum_ in moved.items()}


def bytes_per_execution(
    series: Series, window: Window, completions_ns: Int64Array, slots: Collection[str] | None = None
) -> dict[str, Figure]:
    """Bytes between completions t_a and t_b / (b - a): `read`, `write` and `total`. Source: c2fdeploy.txt, Eq. 23."""
    return bytes_per_execution_over(series, whole_executions(completions_ns, window), slots)


def bytes_per_execution_over(
    series: Series, span: ExecutionSpan, slots: Collection[str] | None = None
) -> dict[str, Figure]:
    """The same over a span of executions."""
    moved = _directions(port_bytes(series, span.window), slots)
    found = quality(series, bracketed(series, span.window), _longest_ns(series))
    return {way: figure("bytes_per_execution", sum_ / span.count, found, part=way) for way, sum_ in moved.items()}


def edge_doubt_bytes(series: Series, span: ExecutionSpan, per_execution_bytes: float) -> float:
    """Standard uncertainty of the bytes of one execution from the two intervals that the span's edges cut.

    Interpolation spreads what moved in such an interval evenly, while a burst, of one execution at most, may lie wholly
    on one side of the edge: a rectangular distribution as wide as the burst, at each edge.
    """
    pieces = _unambiguous(series, span.window)
    names = [described.name for described in series.stream.columns if described.name != CLOCK]
    moved = [increments(series, name, pieces) for name in names]
    edges = (min(per_execution_bytes, sum(float(one[edge]) for one in moved)) for edge in (0, -1))
    return math.hypot(*edges) / math.sqrt(12) / span.count


def above_idle(per_execution: Figure, idle: Figure, executions_per_second: Figure) -> Figure:
    """Bytes of one execution without what moves in the same time anyway, by `read`, `write` or `total`.

    Source: board.md, section 11.5.
    """
    _, _, way = per_execution.name.partition(".")
    left = per_execution.value - idle.value / executions_per_second.value
    return figure("bytes_above_idle_per_execution", left, per_execution.quality, part=way)


def _directions(ports: dict[str, Figure], slots: Collection[str] | None) -> dict[str, float]:
    sums = {"read": 0.0, "write": 0.0}
    for name, moved in ports.items():
        way, _, slot = name.removeprefix("bytes.").partition(".")
        if way in sums and (slots is None or slot in slots):
            sums[way] += moved.value
    return {**sums, "total": sums["read"] + sums["write"]}


def _longest_ns(series: Series) -> float:
    wraps = [described.wrap for described in series.stream.columns if described.wrap and described.name != CLOCK]
    return min(wraps, default=2**63) / PORT_PEAK_BYTES_PER_SECOND * 1e9


def _unambiguous(series: Series, window: Window) -> Pieces:
    """The pieces of a window in which no counter can have turned unseen and the monitor ran; else NotCovered."""
    pieces = bracketed(series, window)
    longest, limit = int(pieces.intervals_ns.max()), _longest_ns(series)
    if longest > limit:
        raise NotCovered(
            f"stream {series.stream.name} has a gap of {longest / 1e6:.0f} ms; above {limit / 1e6:.0f} ms "
            "a byte counter may have wrapped unseen"
        )
    if CLOCK in series.values:
        rates = increments(series, CLOCK, pieces) / pieces.intervals_ns
        usual = float(np.median(rates))
        if usual <= 0 or np.any(rates > usual * CLOCK_TOLERANCE) or np.any(rates < usual / CLOCK_TOLERANCE):
            raise NotCovered("the memory monitor was stopped or reset inside the window: its clock counter jumps")
    return pieces
