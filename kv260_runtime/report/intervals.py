"""The intervals of the figures people read first: repeatability, accuracy, and how far a ratio may be off."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kv260_runtime.profile.result import Change, ModelResult, ProfileResult
from kv260_runtime.report.grid import ABSENT
from kv260_runtime.report.rows import Row, shown_rows
from telemetry.stats import CONFIDENCE, Interval

HEADLINES = (
    "throughput",
    "latency_mean",
    "power",
    "energy_per_execution",
    "energy_above_idle_per_execution",
    "throughput_per_watt",
    "busy_share",
    "bytes_per_execution",
)
"""Figures whose intervals are shown; JSON has those of all."""
CAPTION = (
    f"{100 * CONFIDENCE:g} % intervals: the mean of the next runs lies within the first ± (repeatability), the truth "
    "within the second (accuracy: sensor and clock included, kvbench report --budget). The second can be the narrower: "
    "what is known of the sensor adds degrees of freedom to those of a few runs"
)


@dataclass(frozen=True)
class IntervalLine:
    """One figure, ready to be shown."""

    label: str
    unit: str
    values: tuple[tuple[str, str], ...]
    """Of each model: mean ± repeatability, and ± accuracy."""
    changes: tuple[str, ...]
    """How each later model differs from the first, with the interval of the ratio."""


def headline_rows(result: ProfileResult) -> list[tuple[str, Row]]:
    """Rows of HEADLINES for the figures there are, in reading order."""
    names = dict.fromkeys(name for model in result.models for name in model.summaries)
    return [(name, row) for name, row in shown_rows(names) if name.partition(".")[0] in HEADLINES]


def interval_lines(result: ProfileResult) -> Iterator[IntervalLine]:
    """Lines for the figures of which any model has an interval."""
    for name, row in headline_rows(result):
        values = tuple(_cells(model, name, row) for model in result.models)
        if any(repeated != ABSENT or accurate != ABSENT for repeated, accurate in values):
            yield IntervalLine(row.label.strip(), row.unit, values, _changes(result, name, row))


def _cells(model: ModelResult, name: str, row: Row) -> tuple[str, str]:
    one = model.summaries.get(name)
    if one is None:
        return ABSENT, ABSENT
    repeated = ABSENT if one.repeatability is None else plus_minus(one.mean, one.repeatability.half_width, row.scale)
    accurate = ABSENT if one.accuracy is None else f"± {significant(one.accuracy.expanded * row.scale)}"
    if one.repeatability is None and one.accuracy is not None:
        repeated = f"{one.mean * row.scale:.5g}"
    return repeated, accurate


def plus_minus(mean: float, half: float, scale: float = 1.0) -> str:
    """A value and its half-width to the half-width's second digit.

    >>> plus_minus(49.1302, 0.0512)
    '49.130 ± 0.051'
    """
    if half <= abs(mean) * 1e-9:
        return f"{mean * scale:.5g} ± 0"
    places = _places(half * scale)
    return f"{mean * scale:.{places}f} ± {half * scale:.{places}f}"


def significant(value: float) -> str:
    """A positive value to its second digit, without an exponent.

    >>> significant(0.000571), significant(0)
    ('0.00057', '0')
    """
    return f"{value:.{_places(value)}f}" if value > 0 else "0"


def _places(value: float) -> int:
    return max(0, 1 - math.floor(math.log10(value)))


def _changes(result: ProfileResult, name: str, row: Row) -> tuple[str, ...]:
    known = {one.model: one for one in result.changes if one.name == name}
    return tuple(_change(known.get(model.name), row) for model in result.models[1:])


def _change(one: Change | None, row: Row) -> str:
    if one is None or one.paired is None or row.change != "ratio":
        return ""
    return ratio_in_words(one.paired.ratio)


def ratio_in_words(ratio: Interval) -> str:
    """A ratio with its bounds, as a factor or in percent.

    >>> ratio_in_words(Interval(95.21, 95.04, 95.38))
    '95.21× [95.04, 95.38]'
    >>> ratio_in_words(Interval(0.852, 0.849, 0.855))
    '-14.80 % [-15.10, -14.50]'
    """
    if ratio.value >= 2:
        return f"{ratio.value:.4g}× [{ratio.low:.4g}, {ratio.high:.4g}]"
    value, low, high = ((bound - 1) * 100 for bound in (ratio.value, ratio.low, ratio.high))
    return f"{value:+.2f} % [{low:+.2f}, {high:+.2f}]"
