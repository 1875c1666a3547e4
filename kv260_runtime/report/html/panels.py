"""Which tracks of a timeline are drawn together, under which words, on which axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kv260_runtime.profile.timeline import Timeline, Track
from kv260_runtime.report.html.scales import ceiling
from telemetry.model import Float64Array

Style = Literal["area", "stack", "lines", "lanes"]
"""`area`: one track down to 0; `stack`: on top of each other; `lines`: side by side; `lanes`: a strip each."""

MOST_LINES = 4
STEADY = 0.01
"""A clock that changes by less is not worth a picture."""


@dataclass(frozen=True)
class Line:
    """One track in a panel, in the panel's unit."""

    label: str
    mean: Float64Array
    low: Float64Array | None = None
    high: Float64Array | None = None


@dataclass(frozen=True)
class Panel:
    """One picture over the common time axis."""

    title: str
    unit: str
    style: Style
    lines: tuple[Line, ...]
    floor: float = 0.0
    top: float = 1.0


def panels(timeline: Timeline) -> list[Panel]:
    """All panels in reading order: what a run costs first, then what it does, then what surrounds it."""
    groups: dict[str, list[Track]] = {}
    for track in timeline.tracks:
        groups.setdefault(track.name.partition(".")[0], []).append(track)
    found = [
        *_one_each(groups.get("power", []), "power", "W", 1.0),
        *_one_each(groups.get("busy", []), "DPU busy", "%", 100.0),
        *_one_each(groups.get("gpu", []), "GPU busy", "%", 100.0),
        *_one_each(groups.get("executions", []), "executions per second", "1/s", 1.0),
        *_together(groups.get("memory", []), "memory", "MB/s", 1e-6, "stack"),
        *_together(groups.get("core", []), "CPU cores", "%", 100.0, "lanes"),
        *_together(_hottest(groups.get("temperature", [])), "temperature", "°C", 1.0, "lines"),
        *_together(_moving(groups.get("frequency", [])), "CPU clock", "MHz", 1e-6, "lines"),
    ]
    return [_on_axis(panel) for panel in found]


def _part(track: Track) -> str:
    return track.name.partition(".")[2]


def _line(track: Track, scale: float) -> Line:
    low, high = (None if one is None else one * scale for one in (track.low, track.high))
    return Line(_part(track), track.mean * scale, low, high)


def _one_each(tracks: Sequence[Track], title: str, unit: str, scale: float) -> Iterator[Panel]:
    for track in tracks:
        part = _part(track)
        yield Panel(f"{title}, {part}" if part else title, unit, "area", (_line(track, scale),))


def _together(tracks: Sequence[Track], title: str, unit: str, scale: float, style: Style) -> Iterator[Panel]:
    if tracks:
        yield Panel(title, unit, style, tuple(_line(track, scale) for track in tracks))


def _hottest(tracks: Sequence[Track]) -> list[Track]:
    seen = [track for track in tracks if np.isfinite(track.mean).any()]
    return sorted(seen, key=lambda track: -float(np.nanmax(track.mean)))[:MOST_LINES]


def _moving(tracks: Sequence[Track]) -> list[Track]:
    """Clocks that changed; all that did not are left to the findings."""
    seen = [track for track in tracks if np.isfinite(track.mean).any()]
    moved = [track for track in seen if np.nanmin(track.mean) < (1 - STEADY) * np.nanmax(track.mean)]
    return moved[:MOST_LINES]


def _on_axis(panel: Panel) -> Panel:
    """The panel with its axis: from 0 to a round number, shares to 100 %, temperatures around what they are."""
    if panel.unit == "%":
        return replace(panel, top=100.0)
    tops = [line.mean if line.high is None else np.fmax(line.high, line.mean) for line in panel.lines]
    values = np.sum(tops, axis=0) if panel.style == "stack" else np.concatenate(tops)
    seen = values[np.isfinite(values)]
    if not seen.size:
        return panel
    if panel.style == "lines":
        floor = float(np.floor(seen.min() / 5) * 5)
        return replace(panel, floor=floor, top=max(floor + 5, float(np.ceil(seen.max() / 5) * 5)))
    return replace(panel, top=ceiling(float(seen.max())))
