"""How well the samples were taken, and what taking them cost."""

from __future__ import annotations

from collections.abc import Sequence

from telemetry.figures.busy import LatenessByState
from telemetry.figures.figure import Figure, Quality
from telemetry.findings.finding import Finding

LEAST_SAMPLES = 100
"""Fewer readings of a level leave its mean to a single reading by 1 % or more."""
STATE_LATENESS_NS = 1_000_000
"""A difference of one sampling slot between busy and idle samples is where the estimate begins to lean."""
CORE_SHARE_OF_OBSERVER = 0.05
"""Above 5 % of a core the observer is part of what is measured."""
ESTIMATES_APART = 0.002
"""0.2 points between two estimates of one share is what the virtual board's truth bench allows for all errors."""


def few_samples(name: str, found: Quality, least: int = LEAST_SAMPLES) -> Finding | None:
    """A figure of a sampled level that rests on few readings."""
    if found.samples >= least:
        return None
    return Finding(
        "few-samples",
        "warning",
        f"{name} rests on {found.samples} readings, {least} are wanted",
        "measure for longer (--duration) or read the sensor more often",
    )


def late_ticks(stream: str, found: Quality, period_ns: int) -> Finding | None:
    """Samples so late that they fell into the next period."""
    if found.late_p99_ns is None or found.late_p99_ns <= period_ns:
        return None
    return Finding(
        "late-ticks",
        "warning",
        f"1 % of {stream} was {found.late_p99_ns / 1e6:.2f} ms late or later, at a period of {period_ns / 1e6:g} ms",
        "let the recorder have real-time priority (LimitRTPRIO or CAP_SYS_NICE), or leave a core free",
    )


def lateness_leans(late: LatenessByState) -> Finding | None:
    """Samples later in one state of the compute unit than in the other."""
    if late.busy_p99_ns is None or late.idle_p99_ns is None:
        return None
    if abs(late.busy_p99_ns - late.idle_p99_ns) <= STATE_LATENESS_NS:
        return None
    return Finding(
        "lateness-leans",
        "warning",
        f"p99 lateness is {late.busy_p99_ns / 1e6:.2f} ms while the compute unit is busy and "
        f"{late.idle_p99_ns / 1e6:.2f} ms while it is idle",
        "the busy share leans towards the state that is read in time: give the recorder priority or a core",
    )


def observer_costly(observers: Sequence[Figure], seconds: float) -> Finding | None:
    """The observer's own processes used a noticeable part of a core."""
    share = sum(observer.value for observer in observers) / seconds
    if share <= CORE_SHARE_OF_OBSERVER:
        return None
    return Finding(
        "observer-costly",
        "warning",
        f"observing took {share:.1%} of a core",
        "net figures take it off; lengthen the periods of the board profile to lessen it",
    )


def estimates_apart(name: str, value: float, other: float, other_name: str) -> Finding | None:
    """Two estimates of one share that ought to agree."""
    if abs(value - other) <= ESTIMATES_APART:
        return None
    return Finding(
        "estimates-apart",
        "info",
        f"{name} is {value:.2%}, {other_name} gives {other:.2%}",
        "sampling intervals were unequal; the first is weighted by time and stands",
    )
