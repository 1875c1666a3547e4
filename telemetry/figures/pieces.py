"""A window cut into the intervals between samples: integrals, coverage and their quality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from telemetry.errors import NotCovered
from telemetry.figures.figure import Quality
from telemetry.model import Float64Array, Gap, Int64Array, Series, Window

AT_ONCE = 1 << 16
"""Pieces that are worked on at once where several arrays of their number are needed."""


@dataclass(frozen=True)
class Pieces:
    """The intervals [t[i], t[i+1]] that a window touches, cut at its edges; k of them."""

    window: Window
    t_ns: Int64Array
    """Times of the samples that bound the pieces, shape (k + 1,), or of fewer than two samples if k is 0."""
    first: int
    """Index of t_ns[0] in the series."""
    from_ns: Int64Array
    """Where each piece begins, shape (k,)."""
    to_ns: Int64Array
    """Where each piece ends, shape (k,)."""

    @property
    def lengths_ns(self) -> Int64Array:
        """Length of each piece inside the window."""
        return self.to_ns - self.from_ns

    @property
    def intervals_ns(self) -> Int64Array:
        """Length of each interval before it was cut."""
        return np.diff(self.t_ns)

    def of(self, values: npt.NDArray[np.generic]) -> Float64Array:
        """The samples of a column of the series that bound the pieces, as float64."""
        return np.asarray(values[self.first : self.first + self.t_ns.size], dtype=np.float64)


def cut(t_ns: Int64Array, window: Window) -> Pieces:
    """Cut a window into the intervals between samples.

    Raises NotCovered if the window is empty.
    """
    if window.end_ns <= window.start_ns:
        raise NotCovered(
            f"the window is empty ({window.seconds:.3f} s): the run is shorter than what is trimmed from it"
        )
    first = max(int(np.searchsorted(t_ns, window.start_ns, side="right")) - 1, 0)
    stop = min(int(np.searchsorted(t_ns, window.end_ns, side="left")) + 1, t_ns.size)
    around = t_ns[first:stop]
    if around.size < 2 or around[-1] <= window.start_ns or around[0] >= window.end_ns:
        empty = np.zeros(0, dtype=np.int64)
        return Pieces(window, around[:1], first, empty, empty)
    edges = np.clip(around, window.start_ns, window.end_ns)
    return Pieces(window, around, first, edges[:-1], edges[1:])


def areas(pieces: Pieces, values: Float64Array) -> Float64Array:
    """Integral over each piece, in units of `values` times seconds, of the line through the samples, shape (k,).

    Summed over whole intervals this gives each sample the weight (t[i+1] - t[i-1]) / 2
    (measurement_rules.md, Compute unit); cut intervals are interpolated, so adjacent windows add up to their union.
    """
    if values.size < 2:
        return np.zeros(0)
    found = np.empty(values.size - 1)
    for begin in range(0, found.size, AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        found[part] = _areas(pieces, values, part)
    return found


def _areas(pieces: Pieces, values: Float64Array, part: slice) -> Float64Array:
    """The same for some of the pieces: an hour of a fast stream would need several times its own size at once."""
    t_ns, low, high = pieces.t_ns[:-1][part], values[:-1][part], values[1:][part]
    slopes = (high - low) / np.maximum(pieces.t_ns[1:][part] - t_ns, 1)
    begins = low + slopes * (pieces.from_ns[part] - t_ns)
    ends = low + slopes * (pieces.to_ns[part] - t_ns)
    found: Float64Array = (begins + ends) / 2 * (pieces.to_ns[part] - pieces.from_ns[part]) / 1e9
    return found


def quality(series: Series, pieces: Pieces, longest_ns: float) -> Quality:
    """Quality of a window in which an interval longer than `longest_ns` counts as not covered."""
    window = pieces.window
    inside = slice(*np.searchsorted(pieces.t_ns, [window.start_ns, window.end_ns + 1]))
    count = pieces.t_ns[inside].size
    late = series.late_ns[pieces.first : pieces.first + pieces.t_ns.size][inside]
    covered_ns = int(pieces.lengths_ns[pieces.intervals_ns <= longest_ns].sum()) if pieces.lengths_ns.size else 0
    return Quality(
        samples=count,
        effective_hz=count / window.seconds,
        late_p99_ns=int(np.percentile(late, 99)) if late.size else None,
        worst_gap_ns=_worst_gap_ns(pieces),
        covered=covered_ns / (window.end_ns - window.start_ns),
    )


def _worst_gap_ns(pieces: Pieces) -> int:
    window = pieces.window
    if pieces.lengths_ns.size == 0:
        return window.end_ns - window.start_ns
    edges = int(pieces.t_ns[0]) - window.start_ns, window.end_ns - int(pieces.t_ns[-1])
    return max(int(pieces.intervals_ns.max()), *edges)


def require_covered(series: Series, window: Window, found: Quality, least: float) -> None:
    """Refuse a figure whose window is covered by less than the share `least`.

    Raises NotCovered naming the stream, the share, the worst gap and the reasons recorded with it.
    """
    if found.covered >= least:
        return
    reasons = gap_reasons(series.gaps, window)
    worst = f"; worst gap {found.worst_gap_ns / 1e6:.1f} ms" if found.worst_gap_ns is not None else ""
    because = f" ({', '.join(reasons)})" if reasons else ""
    raise NotCovered(
        f"stream {series.stream.name} covers {found.covered:.1%} of the window, {least:.0%} needed{worst}{because}"
    )


def gap_reasons(gaps: tuple[Gap, ...], window: Window) -> list[str]:
    """The distinct reasons of gaps that touch the window, in order of time."""
    touching = [gap for gap in gaps if gap.start_ns < window.end_ns and gap.end_ns > window.start_ns]
    return list(dict.fromkeys(gap.reason for gap in touching))


def column(series: Series, name: str) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
    """The samples of one column; raises NotCovered if the stream has none of that name."""
    if name not in series.values:
        raise NotCovered(
            f"stream {series.stream.name} has no column {name}; it has {', '.join(sorted(series.values)) or 'none'}"
        )
    return series.values[name]
