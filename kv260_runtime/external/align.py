"""From a meter's clock to the session's: where the load pattern of the session is found again in the meter's readings.

Nothing is known of the meter's clock but that it runs; its readings show the same load as the board's own rail, or as
the compute unit's state, at some other level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kv260_runtime.external.meter_file import LEAST_READINGS, Readings
from telemetry.errors import NotCovered
from telemetry.model import Float64Array, Int64Array, Window

STEP_NS = (20_000_000, 100_000_000)
"""Grid on which patterns are compared: a tenth of the meter's period, within these bounds."""
LEAST_CORRELATION = 0.8
LEAST_LEAD = 0.05
"""By how much the best place must beat any other; else the pattern may have been found in the wrong place."""
LONGEST_DRIFT = 2e-3
"""Clocks that run this much apart are no clocks; the board's crystal is good to 5e-5."""
NO_VARIATION = 1e-10
SLACK_NS = 1_000_000_000


@dataclass(frozen=True)
class Level:
    """What the board itself saw of the load, at any level: watts, or the share of time its unit was busy."""

    name: str
    t_ns: Int64Array
    """Session time each value belongs to."""
    values: Float64Array


@dataclass(frozen=True)
class Alignment:
    """Session time = offset_ns + rate * meter time."""

    offset_ns: int
    rate: float
    correlation: float
    """Of the readings with the board's own level over the pattern."""

    def session_ns(self, t_ns: Int64Array) -> Int64Array:
        """Meter times as session times."""
        moved: Int64Array = self.offset_ns + np.rint(self.rate * t_ns).astype(np.int64)
        return moved


def align(meter: Readings, level: Level, pattern: Window) -> Alignment:
    """Where `pattern`, a span of the session's load, lies among the readings.

    Raises NotCovered if it is not among them, or might be in two places.
    """
    width = width_ns(meter, level)
    step_ns = int(np.clip(width // 10, *STEP_NS))
    template = _averages(level.t_ns, level.values, pattern, step_ns, width)
    whole = Window(int(meter.t_ns[0]), int(meter.t_ns[-1]) + 1)
    among = _averages(meter.t_ns, meter.watts, whole, step_ns, width)
    if among.size < template.size:
        raise NotCovered(
            f"the meter's file covers {whole.seconds:.1f} s, the pattern to be found in it {pattern.seconds:.1f} s"
        )
    scores = correlations(among, template)
    best = int(np.argmax(scores))
    if scores[best] < LEAST_CORRELATION:
        raise NotCovered(
            f"the load of {level.name} is not found in the meter's readings (correlation {scores[best]:.2f}, "
            f"{LEAST_CORRELATION} needed): does the file cover the start of the session?"
        )
    others = np.abs(np.arange(scores.size) - best) > template.size // 4
    if np.any(others) and scores[best] - scores[others].max() < LEAST_LEAD:
        raise NotCovered(
            f"the load of {level.name} is found in the meter's readings more than once (correlations "
            f"{scores[best]:.3f} and {scores[others].max():.3f}): record with --pulse"
        )
    place_ns = round((best + _vertex(scores, best)) * step_ns)
    return Alignment(pattern.start_ns - whole.start_ns - place_ns, 1.0, float(scores[best]))


def width_ns(meter: Readings, level: Level) -> int:
    """The longer of the intervals between readings and between the board's own samples."""
    return max(meter.period_ns, int(np.median(np.diff(level.t_ns))))


def align_with_rate(meter: Readings, level: Level, pattern: Window, late: Window) -> Alignment:
    """The same with the rate of the meter's clock, from a pattern late in the session.

    The rate stays 1 where the readings do not reach that far, do not show the pattern there, or the clocks differ by
    less than an interval between readings, which is how well an edge is found. Raises NotCovered as `align` does.
    """
    found = align(meter, level, pattern)
    predicted_ns = late.start_ns - found.offset_ns
    slack_ns = SLACK_NS + round(LONGEST_DRIFT * abs(late.start_ns - pattern.start_ns))
    length_ns = late.end_ns - late.start_ns
    near = (meter.t_ns >= predicted_ns - slack_ns) & (meter.t_ns <= predicted_ns + length_ns + slack_ns)
    if np.count_nonzero(near) < LEAST_READINGS:
        return found
    first_ns = int(meter.t_ns[near][0])
    try:
        again = align(Readings(meter.t_ns[near] - first_ns, meter.watts[near]), level, late)
    except NotCovered:
        return found
    # Two instants at which both clocks are known: the middle of either pattern.
    session = [(window.start_ns + window.end_ns) // 2 for window in (pattern, late)]
    own = [session[0] - found.offset_ns, session[1] - again.offset_ns + first_ns]
    rate = (session[1] - session[0]) / (own[1] - own[0])
    drifted_ns = abs((session[1] - session[0]) - (own[1] - own[0]))
    if drifted_ns <= width_ns(meter, level) or abs(rate - 1) > LONGEST_DRIFT:
        return found
    return Alignment(session[0] - round(rate * own[0]), rate, found.correlation)


def correlations(among: Float64Array, template: Float64Array) -> Float64Array:
    """Pearson's correlation of the template with every part of its length, shape (n - k + 1,)."""
    n, k = among.size, template.size
    centred, pattern = among - among.mean(), template - template.mean()
    length = n + k
    products = np.fft.irfft(np.fft.rfft(centred, length) * np.conj(np.fft.rfft(pattern, length)), length)[: n - k + 1]
    sums, squares = (np.concatenate(([0.0], np.cumsum(part))) for part in (centred, centred**2))
    spread = squares[k:] - squares[:-k] - (sums[k:] - sums[:-k]) ** 2 / k
    # Differences of running sums are good to about 1e-13 of the whole; less than 1e-10 of it is no variation.
    flat = spread <= NO_VARIATION * squares[-1]
    scale = np.sqrt(np.where(flat, 1.0, spread) * np.sum(pattern**2))
    scores: Float64Array = np.where(flat | (scale == 0), 0.0, products / np.where(scale == 0, 1.0, scale))
    return scores


def _averages(t_ns: Int64Array, values: Float64Array, window: Window, step_ns: int, width_ns: int) -> Float64Array:
    """The line through the samples, averaged over `width_ns` around each point of a grid."""
    seconds = (t_ns - t_ns[0]) / 1e9
    integral = np.concatenate(([0.0], np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(seconds))))
    grid = (np.arange(window.start_ns, window.end_ns, step_ns) - t_ns[0]) / 1e9
    begins = np.clip(grid - width_ns / 2e9, 0.0, seconds[-1])
    ends = np.clip(grid + width_ns / 2e9, 0.0, seconds[-1])
    used = np.maximum(ends - begins, 1e-12)
    areas = _area(seconds, values, integral, ends) - _area(seconds, values, integral, begins)
    averages: Float64Array = np.where(ends > begins, areas / used, np.interp(grid, seconds, values))
    return averages


def _area(seconds: Float64Array, values: Float64Array, integral: Float64Array, at: Float64Array) -> Float64Array:
    """Integral of the line from its start to each instant."""
    left = np.clip(np.searchsorted(seconds, at, "right") - 1, 0, seconds.size - 2)
    rest = at - seconds[left]
    slope = (values[left + 1] - values[left]) / (seconds[left + 1] - seconds[left])
    area: Float64Array = integral[left] + values[left] * rest + slope * rest**2 / 2
    return area


def _vertex(scores: Float64Array, best: int) -> float:
    """Top of the parabola through the best score and its neighbours, in steps from it."""
    if not 0 < best < scores.size - 1:
        return 0.0
    before, top, after = (float(score) for score in scores[best - 1 : best + 2])
    bend = before - 2 * top + after
    return 0.5 * (before - after) / bend if bend < 0 else 0.0
