"""Axes: round numbers for ticks, numbers and times as people write them."""

from __future__ import annotations

import math

STEPS = (1.0, 2.0, 5.0, 10.0)
TIME_STEPS_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400)
PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def ceiling(value: float) -> float:
    """The least round number that is not below `value`, for the top of an axis that begins at 0.

    >>> ceiling(7.9), ceiling(4883.0), ceiling(0.0)
    (8.0, 5000.0, 1.0)
    """
    if not value > 0 or not math.isfinite(value):
        return 1.0
    scale: float = 10.0 ** math.floor(math.log10(value))
    for step in (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0):
        if step * scale >= value * (1 - 1e-9):
            return float(f"{step * scale:.3g}")
    return 10.0 * scale


def time_step_seconds(seconds: float, most: int) -> float:
    """The finest round step that puts at most `most` ticks into a span.

    >>> time_step_seconds(70.0, 10), time_step_seconds(3600.0, 10)
    (10.0, 600.0)
    """
    for step in TIME_STEPS_SECONDS:
        if seconds / step <= most:
            return float(step)
    return math.ceil(seconds / most / TIME_STEPS_SECONDS[-1]) * float(TIME_STEPS_SECONDS[-1])


def clock(seconds: float) -> str:
    """Seconds since the start as a tick label.

    >>> clock(40), clock(90), clock(3900)
    ('40 s', '1:30', '1:05:00')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"


def plain(value: float, digits: int = 3) -> str:
    """A number with `digits` significant digits and no exponent.

    >>> plain(1836.2), plain(0.016138), plain(0.0)
    ('1836', '0.0161', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def scale_of(value: float) -> tuple[float, str]:
    """The scale and prefix that leave a small value with digits before the point.

    >>> scale_of(0.016)
    (0.001, 'm')
    """
    return next(((scale, prefix) for scale, prefix in PREFIXES if abs(value) >= scale), PREFIXES[0])


def prefixed(value: float, spread: float | None, unit: str) -> tuple[str, str]:
    """A small value and its spread in a unit that keeps them readable: text and unit.

    >>> prefixed(0.016138, 0.000066, "J")
    ('16.138 ± 0.066', 'mJ')
    """
    from kv260_runtime.report.rows import measure

    scale, prefix = scale_of(value)
    return measure(value / scale, None if spread is None else spread / scale), f"{prefix}{unit}"
