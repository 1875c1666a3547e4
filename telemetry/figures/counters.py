"""Cumulative counters: unwrapping them and reading them between samples."""

from __future__ import annotations

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.pieces import Pieces, column, cut
from telemetry.figures.repeatable import total
from telemetry.model import Column, Float64Array, Series, Window


def increments(series: Series, name: str, pieces: Pieces) -> Float64Array:
    """How far a counter moved over each uncut interval of `pieces`, shape (k,), in the unit of its column.

    A counter that wraps is unwrapped modulo its `wrap`, which is right only while no interval is long enough
    for a whole turn; the caller knows that limit. Raises NotCovered if a counter that cannot wrap went back.
    """
    samples = column(series, name)[pieces.first : pieces.first + pieces.t_ns.size]
    moved = np.diff(samples)
    wrap = column_of(series, name).wrap
    if wrap is not None:
        return np.mod(moved, wrap).astype(np.float64)
    if np.any(moved < 0):
        raise NotCovered(f"counter {name} of stream {series.stream.name} went back: it was reset inside the window")
    return moved.astype(np.float64)


def increase(series: Series, name: str, window: Window) -> float:
    """How far a counter moved over the window, interpolated at both edges (measurement_rules.md, Counters).

    Raises NotCovered if the samples do not bracket the window.
    """
    pieces = bracketed(series, window)
    moved = increments(series, name, pieces)
    return total(moved * (pieces.lengths_ns / pieces.intervals_ns))


def bracketed(series: Series, window: Window) -> Pieces:
    """The pieces of a window that has a sample at or before its start and one at or after its end, else NotCovered."""
    pieces = cut(series.t_ns, window)
    if pieces.lengths_ns.size == 0 or pieces.t_ns[0] > window.start_ns or pieces.t_ns[-1] < window.end_ns:
        raise NotCovered(
            f"stream {series.stream.name} was not sampled on both sides of the window of {window.seconds:.3f} s"
        )
    return pieces


def column_of(series: Series, name: str) -> Column:
    """The description of a column that the series holds."""
    for described in series.stream.columns:
        if described.name == name:
            return described
    raise NotCovered(f"stream {series.stream.name} does not describe a column {name}")
