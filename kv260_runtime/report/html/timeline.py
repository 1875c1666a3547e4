"""The timeline: every panel over one time axis, tinted by the runs below it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from kv260_runtime.profile.timeline import Band, Timeline
from kv260_runtime.report.html.drawing import HEIGHT, shapes
from kv260_runtime.report.html.markup import Markup, join, tag
from kv260_runtime.report.html.panels import Panel, panels
from kv260_runtime.report.html.scales import clock, plain, time_step_seconds
from kv260_runtime.report.words import count
from telemetry.model import Float64Array, Window

MOST_TICKS = 12
KEYS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
COLOURS = 6
"""How many colours models have; more of them begin again."""


def key(place: int) -> str:
    """A model's letter.

    >>> key(0), key(27)
    ('A', 'B2')
    """
    return KEYS[place % len(KEYS)] + (str(place // len(KEYS) + 1) if place >= len(KEYS) else "")


def colour(place: int) -> str:
    """The class that gives a model its colour."""
    return f"m{place % COLOURS}"


def chip(place: int) -> Markup:
    """A model's letter in its colour."""
    return tag("b", key(place), class_=f"chip {colour(place)}")


def section(timeline: Timeline, models: Sequence[str]) -> Markup:
    """The whole section; says so where nothing was recorded."""
    drawn = panels(timeline)
    if not drawn and not timeline.bands:
        return tag("p", "The session holds no samples.", class_="quiet")
    return join(
        [
            tag(
                "div",
                tag("p", id="reading", class_="reading", aria_live="polite"),
                _strip(timeline, models),
                [_figure(panel, timeline, models) for panel in drawn],
                _axis(timeline),
                tag("i", class_="cursor", id="cursor"),
                class_="timeline",
                id="plots",
            ),
            _legend(timeline, models),
            _data(drawn, timeline, models),
        ]
    )


def _percent(t_ns: float, timeline: Timeline) -> float:
    return 100 * (t_ns - timeline.start_ns) / (timeline.end_ns - timeline.start_ns)


def _place(span: Window, timeline: Timeline) -> str:
    left = _percent(span.start_ns, timeline)
    return f"left:{left:.3f}%;width:{max(0.0, _percent(span.end_ns, timeline) - left):.3f}%"


def run_title(band: Band, models: Sequence[str]) -> str:
    """A run in a few letters: `A 2` is the second formal run of the first model."""
    letter = key(models.index(band.model)) if band.model in models else "?"
    phase = "smoke " if band.phase == "smoke" else ""
    return f"{letter} {phase}{band.index + 1}{'′' * band.attempt}"


def _verdict(band: Band) -> str:
    if not band.kept:
        return f"excluded: {band.reason or 'no reason given'}"
    return "not counted" if band.phase == "smoke" else "kept"


def _strip(timeline: Timeline, models: Sequence[str]) -> Markup:
    """The runs in a row above the panels, with their idle before and after."""
    parts = []
    for band in timeline.bands:
        place = models.index(band.model) if band.model in models else 0
        parts += [tag("i", class_="idle", style=_place(idle, timeline)) for idle in band.idle]
        state = "excluded" if not band.kept else band.phase
        title = f"{run_title(band, models)}, {band.model}: {_verdict(band)}"
        shown = tag("span", run_title(band, models).replace("smoke ", "s"))
        span = band.window or band.whole
        parts.append(tag("i", shown, class_=f"run {state} {colour(place)}", style=_place(span, timeline), title=title))
    return tag("div", parts, class_="strip", aria_label="runs")


def _figure(panel: Panel, timeline: Timeline, models: Sequence[str]) -> Markup:
    names = [line.label for line in panel.lines]
    legend = (
        [tag("span", name, class_=f"name s{place}") for place, name in enumerate(names)] if len(names) > 1 else None
    )
    if panel.style == "lanes":
        legend = None
    head = tag("figcaption", tag("b", panel.title), tag("span", panel.unit, class_="unit"), legend, tag("output"))
    picture = tag(
        "svg",
        _tints(timeline, models),
        [tag("path", class_="grid", d=f"M0 {height}H{timeline.bins}") for height in _grid(panel)],
        shapes(panel),
        viewBox=f"0 0 {timeline.bins} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=_in_words(panel),
    )
    return tag("figure", head, tag("div", picture, _labels(panel), class_=f"plot {panel.style}"))


def _tints(timeline: Timeline, models: Sequence[str]) -> Iterator[Markup]:
    """The measured spans of the runs that count, behind the curves."""
    for band in timeline.bands:
        if band.window is None or band.phase == "smoke" or not band.kept:
            continue
        left = (band.window.start_ns - timeline.start_ns) / timeline.bin_ns
        width = (band.window.end_ns - band.window.start_ns) / timeline.bin_ns
        place = models.index(band.model) if band.model in models else 0
        yield tag("rect", class_=f"tint {colour(place)}", x=f"{left:.2f}", width=f"{width:.2f}", y=0, height=HEIGHT)


def _grid(panel: Panel) -> list[int]:
    if panel.style == "lanes":
        return [HEIGHT * place // len(panel.lines) for place in range(1, len(panel.lines) + 1)]
    return [1, HEIGHT // 2, HEIGHT - 1]


def _labels(panel: Panel) -> list[Markup]:
    """What the grid lines mean, as text that does not stretch with the picture."""
    if panel.style == "lanes":
        lanes = len(panel.lines)
        return [
            tag("span", line.label, class_="lane", style=f"top:{100 * place / lanes:.2f}%")
            for place, line in enumerate(panel.lines)
        ]
    middle = (panel.floor + panel.top) / 2
    return [
        tag("span", f"{value:.4g}", class_=place)
        for value, place in ((panel.top, "top"), (middle, "middle"), (panel.floor, "bottom"))
    ]


def _in_words(panel: Panel) -> str:
    """The picture for those who cannot see it."""
    told = []
    for line in panel.lines:
        seen = line.mean[np.isfinite(line.mean)]
        if seen.size:
            span = f"{plain(float(seen.min()))} to {plain(float(seen.max()))} {panel.unit}"
            told.append(f"{line.label} {span}" if len(panel.lines) > 1 else span)
    return f"{panel.title} over time: {'; '.join(told) or 'nothing seen'}"


def _axis(timeline: Timeline) -> Markup:
    seconds = (timeline.end_ns - timeline.start_ns) / 1e9
    step = time_step_seconds(seconds, MOST_TICKS)
    ticks = []
    for place in range(int(seconds / step) + 1):
        left = 100 * place * step / seconds
        if left <= 97:
            ticks.append(
                tag("span", clock(place * step), class_="minor" if place % 3 else None, style=f"left:{left:.3f}%")
            )
    return tag("div", ticks, class_="axis")


def _legend(timeline: Timeline, models: Sequence[str]) -> Markup:
    named = [tag("span", chip(place), " ", name) for place, name in enumerate(models)]
    others = [tag("span", tag("i", class_="idle"), " idle")]
    if any(band.phase == "smoke" for band in timeline.bands):
        others.append(tag("span", tag("i", class_="run smoke m0"), " smoke run, not counted"))
    if any(not band.kept for band in timeline.bands):
        others.append(tag("span", tag("i", class_="run excluded m0"), " excluded"))
    missed = sum(gap.missed for gaps in timeline.gaps.values() for gap in gaps)
    width = f"{timeline.bin_ns / 1e9:g} s" if timeline.bin_ns >= 1e9 else f"{timeline.bin_ns / 1e6:g} ms"
    note = f"Means over bins of {width}; the light band is the range of single readings."
    gaps = (
        f" {count(missed, 'reading')} missed; where half a bin or more was not seen, the line breaks." if missed else ""
    )
    return tag("div", tag("p", named, others, class_="legend"), tag("p", note, gaps, class_="quiet"))


def _data(drawn: Sequence[Panel], timeline: Timeline, models: Sequence[str]) -> Markup:
    """What the cursor reads out."""
    told = {
        "bin": timeline.bin_ns / 1e9,
        "bins": timeline.bins,
        "runs": [
            [
                (span.start_ns - timeline.start_ns) / timeline.bin_ns,
                (span.end_ns - timeline.start_ns) / timeline.bin_ns,
                f"{run_title(band, models)} {band.model}, {'excluded' if not band.kept else _verdict(band)}",
            ]
            for band in timeline.bands
            for span in [band.window or band.whole]
        ],
        "panels": [
            {"names": [line.label for line in panel.lines], "values": [_rounded(line.mean) for line in panel.lines]}
            for panel in drawn
        ],
    }
    text = json.dumps(told, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="data">{text}</script>')


def _rounded(values: Float64Array) -> list[float | None]:
    """Three or four digits are what a reader can use; None where nothing was seen."""
    seen = values[np.isfinite(values)]
    largest = float(np.abs(seen).max()) if seen.size else 1.0
    places = max(0, 3 - int(np.floor(np.log10(largest)))) if largest > 0 else 0
    return [None if value != value else value for value in values.round(places).tolist()]
