"""What a stretch of samples adds to counters, integrated as telemetry.figures integrate a window.

A stretch is the last sample of the stretch before and the new ones. Between two samples lies a straight line, also
where they are further apart than a figure allows; that time is told as not covered. Beyond `BRIDGED_NS` nothing is
added, because nothing is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from telemetry.figures.busy import MAX_INTERVAL_NS, held_states
from telemetry.figures.memory import CLOCK, CLOCK_TOLERANCE, PORT_PEAK_BYTES_PER_SECOND
from telemetry.figures.pieces import Pieces, areas, cut
from telemetry.figures.power import LONGEST_IN_PERIODS, PEAK_WATTS, averaging_ns
from telemetry.model import Column, Float64Array, Series, Window
from telemetry.readers.apm import RESTARTED, TAKEN

BRIDGED_NS = 1_000_000_000
"""A straight line over a longer span would be invention."""
USUAL_OF = 31
"""How many clock rates of the memory monitor tell the usual one."""

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Increments:
    """What is added to each counter, and how much of the stretch a figure would not call covered."""

    amounts: Mapping[str, float]
    uncovered_ns: int = 0


Integrator = Callable[[Series], Increments]
"""Stretch of at least two samples to increments."""


def power(stretch: Series) -> Increments:
    """`joules` from the gauge `watts`."""
    pieces = _whole(stretch)
    longest_ns = LONGEST_IN_PERIODS * max(stretch.stream.period_ns, averaging_ns(stretch.stream) or 0)
    bridged = pieces.intervals_ns <= max(longest_ns, BRIDGED_NS)
    joules = areas(pieces, pieces.of(stretch.values["watts"]))[bridged].sum()
    return Increments({"joules": float(joules)}, _total(pieces, pieces.intervals_ns > longest_ns))


def counted_energy(stretch: Series) -> Increments:
    """`joules` from a counter that may wrap."""
    pieces = _whole(stretch)
    [column] = stretch.stream.columns
    longest_ns = np.inf if column.wrap is None else column.wrap / PEAK_WATTS * 1e9
    known = pieces.intervals_ns <= longest_ns
    return Increments({"joules": float(_moved(stretch, column)[known].sum())}, _total(pieces, ~known))


def busy_ratio(stretch: Series) -> Increments:
    """`busy.gpu` from the gauge `busy_ratio`."""
    pieces = _whole(stretch)
    longest_ns = LONGEST_IN_PERIODS * stretch.stream.period_ns
    bridged = pieces.intervals_ns <= max(longest_ns, BRIDGED_NS)
    seconds = areas(pieces, pieces.of(stretch.values["busy_ratio"]))[bridged].sum()
    return Increments({"busy.gpu": float(seconds)}, _total(pieces, pieces.intervals_ns > longest_ns))


def compute_units(stretch: Series) -> Increments:
    """`busy.NAME` in seconds and `runs.NAME` of each compute unit; nothing while its state is unknown."""
    pieces = _whole(stretch)
    intervals_ns = pieces.intervals_ns
    amounts, uncovered = {}, np.zeros(intervals_ns.size, np.bool_)
    for name in unit_names(stretch):
        seconds = areas(pieces, held_states(stretch, name))
        known = ~np.isnan(seconds)
        amounts[f"busy.{name}"] = float(seconds[known & (intervals_ns <= BRIDGED_NS)].sum())
        counter = next(c for c in reversed(stretch.stream.columns) if c.name in (f"completed.{name}", f"usage.{name}"))
        amounts[f"runs.{name}"] = float(_moved(stretch, counter).sum())
        uncovered |= ~known | (intervals_ns > MAX_INTERVAL_NS)
    return Increments(amounts, _total(pieces, uncovered))


def unit_names(stretch: Series) -> list[str]:
    """The compute units of a stream."""
    return [c.name.removeprefix("status.") for c in stretch.stream.columns if c.kind == "state"]


def core_time(stretch: Series) -> Increments:
    """`busy.cpuN` and `idle.cpuN` in seconds; the kernel counts on while nobody reads."""
    amounts: dict[str, float] = {}
    columns = {column.name: column for column in stretch.stream.columns}
    for name, column in columns.items():
        if name.startswith("busy."):
            busy = float(_moved(stretch, column).sum())
            total = float(_moved(stretch, columns[name.replace("busy.", "total.")]).sum())
            amounts |= {name: busy, name.replace("busy.", "idle."): max(total - busy, 0.0)}
    return Increments(amounts)


def own_time(stretch: Series) -> Increments:
    """`cpu_seconds` of the recorder."""
    [column] = stretch.stream.columns
    return Increments({"cpu_seconds": float(_moved(stretch, column).sum())})


@dataclass
class Traffic:
    """`read.slotN` and `write.slotN` in bytes, as long as the counters cannot have turned unseen and were not reset."""

    rates: deque[float] = field(default_factory=lambda: deque(maxlen=USUAL_OF))
    """Latest rates of the monitor's clock, strange ones included: whatever lasts becomes the usual."""

    def __call__(self, stretch: Series) -> Increments:
        """As the other integrators."""
        pieces = _whole(stretch)
        columns = stretch.stream.columns
        wraps = [c.wrap for c in columns if c.wrap is not None and c.name != CLOCK]
        known = pieces.intervals_ns <= min(wraps, default=np.inf) / PORT_PEAK_BYTES_PER_SECOND * 1e9
        known &= ~_restarted(stretch)
        amounts = {}
        for column in columns:
            moved = _moved(stretch, column)
            if column.name == CLOCK:
                rates = moved / pieces.intervals_ns
                self.rates.extend(rates.tolist())
                usual = float(np.median(self.rates))
                known &= (rates <= usual * CLOCK_TOLERANCE) & (rates >= usual / CLOCK_TOLERANCE) & (rates > 0)
            else:
                amounts[column.name] = moved
        return Increments({name: float(moved[known].sum()) for name, moved in amounts.items()}, _total(pieces, ~known))


INTEGRATORS: Mapping[str, Callable[[], Integrator]] = {
    "hwmon-power": lambda: power,
    "battery": lambda: power,
    "rapl": lambda: counted_energy,
    "xrt-cu": lambda: compute_units,
    "gpu-load": lambda: busy_ratio,
    "apm": Traffic,
    "proc-stat": lambda: core_time,
    "self-cost": lambda: own_time,
}
"""Kind of sensor to what integrates its streams; kinds without a row have nothing to add up."""


def _whole(stretch: Series) -> Pieces:
    return cut(stretch.t_ns, Window(int(stretch.t_ns[0]), int(stretch.t_ns[-1])))


def _total(pieces: Pieces, which: BoolArray) -> int:
    return int(pieces.intervals_ns[which].sum())


def _moved(stretch: Series, column: Column) -> Float64Array:
    """How far a counter moved over each interval; nothing where one that cannot wrap went back, for it was reset."""
    moved: npt.NDArray[Any] = np.diff(stretch.values[column.name])
    moved = np.maximum(moved, 0) if column.wrap is None else np.mod(moved, column.wrap)
    return moved.astype(np.float64)


def _restarted(stretch: Series) -> BoolArray:
    """Intervals in which the memory monitor was stopped or reset, as its reader noticed."""
    begins, ends = stretch.t_ns[:-1], stretch.t_ns[1:]
    found = np.zeros(begins.size, np.bool_)
    for gap in stretch.gaps:
        if gap.reason in (RESTARTED, TAKEN):
            found |= (begins < gap.end_ns) & (ends > gap.start_ns)
    return found
