"""Tracks as SVG paths: one unit of x a bin, y from 0 at the top to HEIGHT at the axis's floor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kv260_runtime.report.html.markup import Markup, tag
from kv260_runtime.report.html.panels import Panel
from telemetry.model import Float64Array

HEIGHT = 1000


def shapes(panel: Panel) -> list[Markup]:
    """The filled areas and lines of a panel, in drawing order."""
    if panel.style == "stack":
        return list(_stack(panel))
    if panel.style == "lanes":
        return list(_lanes(panel))
    return [shape for place, _ in enumerate(panel.lines) for shape in _single(panel, place)]


def _single(panel: Panel, place: int) -> Iterator[Markup]:
    line = panel.lines[place]
    mean = heights(line.mean, panel.floor, panel.top)
    colour = f"s{place}"
    if panel.style == "area":
        yield tag("path", class_=f"fill {colour}", d=outline(np.full_like(mean, HEIGHT), mean))
    if line.low is not None and line.high is not None:
        low, high = (heights(one, panel.floor, panel.top) for one in (line.low, line.high))
        yield tag("path", class_=f"range {colour}", d=outline(low, high))
    yield tag("path", class_=f"line {colour}", d=polyline(mean))


def _stack(panel: Panel) -> Iterator[Markup]:
    below = np.zeros_like(panel.lines[0].mean)
    for place, line in enumerate(panel.lines):
        above = below + line.mean
        edges = [heights(one, panel.floor, panel.top) for one in (below, above)]
        yield tag("path", class_=f"fill strong s{place}", d=outline(edges[0], edges[1]))
        yield tag("path", class_=f"line s{place}", d=polyline(edges[1]))
        below = above


def _lanes(panel: Panel) -> Iterator[Markup]:
    """One strip a track, with a little air between them."""
    lane = HEIGHT / len(panel.lines)
    for place, line in enumerate(panel.lines):
        floor = lane * (place + 1)
        mean = floor - (HEIGHT - heights(line.mean, panel.floor, panel.top)) / HEIGHT * lane * 0.86
        yield tag("path", class_="fill strong s0", d=outline(np.where(np.isnan(mean), np.nan, floor), mean))


def heights(values: Float64Array, floor: float, top: float) -> Float64Array:
    """Where values lie on the axis; what lies beyond it is drawn at its edge, NaN stays NaN."""
    return np.clip(HEIGHT * (1 - (values - floor) / (top - floor)), 0, HEIGHT)


def pieces(values: Float64Array) -> list[slice]:
    """The stretches without NaN."""
    seen = np.concatenate([[False], np.isfinite(values), [False]]).astype(np.int8)
    turns = np.flatnonzero(np.diff(seen))
    return [slice(int(begin), int(end)) for begin, end in zip(turns[::2], turns[1::2], strict=True)]


def polyline(values: Float64Array) -> str:
    """A path through the middle of each bin, broken where nothing was seen.

    >>> polyline(np.array([1.0, 3.0, np.nan, 2.0]))
    'M.5 1l1 2M3.5 2h0'
    """
    return "".join(f"M{_x(piece.start)} {_steps(values[piece])}" for piece in pieces(values))


def outline(low: Float64Array, high: Float64Array) -> str:
    """The area between two curves, broken where either is unknown."""
    paths = []
    for piece in pieces(low + high):
        there, back = high[piece], low[piece][::-1]
        last = round(float(back[0]))
        paths.append(f"M{_x(piece.start)} {_steps(there)}V{last}{_deltas(back, -1)}z")
    return "".join(paths)


def _x(place: int) -> str:
    return f"{place}.5" if place else ".5"


def _steps(values: Float64Array) -> str:
    """Where a line begins, and how it goes on; a lone point becomes a dot with a round line cap."""
    return f"{round(float(values[0]))}{_deltas(values, 1) or 'h0'}"


def _deltas(values: Float64Array, direction: int) -> str:
    """Steps of one bin in whole units, so that rounding does not add up; level stretches are one step."""
    changes = np.diff(np.rint(values)).astype(np.int64).tolist()
    parts: list[str] = []
    level = 0
    for change in changes:
        if change == 0:
            level += 1
            continue
        if level:
            parts.append(f"h{direction * level}")
            level = 0
        parts.append(f"l{direction} {change}" if change > 0 else f"l{direction}{change}")
    if level:
        parts.append(f"h{direction * level}")
    return "".join(parts)
