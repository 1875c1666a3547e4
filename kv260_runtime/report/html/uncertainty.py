"""How well figures are known: both intervals, what their accuracy is made of, and what is known of each sensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kv260_runtime.profile.result import ModelResult, ProfileResult, Summary
from kv260_runtime.report import intervals
from kv260_runtime.report.html.markup import Markup, join, tag
from kv260_runtime.report.html.notes import definitions
from kv260_runtime.report.html.timeline import chip, key
from kv260_runtime.report.rows import Row
from telemetry.uncertainty import Budget, Component

RAIL_KINDS = ("hwmon-power", "rapl", "battery")
SPREAD = (
    "± in all other tables is the sample standard deviation over runs: how far a run lies from the others. "
    "It says nothing of errors that all runs share, such as a sensor's gain."
)
HUES = 6
"""How many components are told apart by their colour."""
LEAST_SHARE = 0.05
"""Percent of the variance below which nothing would be seen."""


def section(result: ProfileResult) -> Markup:
    """Intervals and budgets where there are any; what the board profile says of each rail."""
    parts: list[object] = [tag("p", SPREAD)]
    lines = list(intervals.interval_lines(result))
    if lines:
        parts += [_intervals(result, lines), tag("h3", "What the accuracy is made of"), _budgets(result)]
    rails = [_rail(stream) for stream in result.streams if stream["kind"] in RAIL_KINDS]
    if rails:
        parts += [tag("h3", "What is known of the sensors"), tag("div", rails, class_="columns")]
    return join(parts)


def _intervals(result: ProfileResult, lines: list[intervals.IntervalLine]) -> Markup:
    models = [
        [tag("th", chip(place), " repeatability", scope="col"), tag("th", "accuracy", scope="col")]
        for place in range(len(result.models))
    ]
    changes = [tag("th", chip(place), " to ", chip(0), scope="col") for place in range(1, len(result.models))]
    head = tag("thead", tag("tr", tag("th", "95 % intervals", scope="col"), models, changes))
    rows = [
        tag(
            "tr",
            tag("th", line.label, tag("small", line.unit), scope="row"),
            [
                [tag("td", repeated, data_of=key(place)), tag("td", accurate, class_="change", data_of="accuracy")]
                for place, (repeated, accurate) in enumerate(line.values)
            ],
            [
                tag("td", change, class_="change", data_of=f"{key(place)} to {key(0)}")
                for place, change in enumerate(line.changes, 1)
            ],
        )
        for line in lines
    ]
    words = (
        "The mean of the next runs lies within the first ± (repeatability), the truth within the second (accuracy: "
        "sensor and clock included). Ratios are over pairs of runs, in which a common gain error cancels."
    )
    return join(
        [
            tag("div", tag("table", head, tag("tbody", rows), class_="figures intervals"), class_="scroll"),
            tag("p", words, class_="quiet"),
        ]
    )


def _budgets(result: ProfileResult) -> Markup:
    """Each headline figure with its components as shares of its variance, the largest first."""
    found = [
        (place, model, model.summaries[name], row)
        for name, row in intervals.headline_rows(result)
        for place, model in enumerate(result.models)
        if name in model.summaries
    ]
    names = dict.fromkeys(part.name for _, _, one, _ in found if one.accuracy for part in one.accuracy.components)
    hues = {name: f"c{hue % HUES}" for hue, name in enumerate(names)}
    return tag("ul", [_figure(*one, hues) for one in found], class_="budget")


def _figure(place: int, model: ModelResult, one: Summary, row: Row, hues: Mapping[str, str]) -> Markup:
    title = [chip(place), f" {row.label.strip()} "]
    budget = one.accuracy
    if budget is None:
        unknown = tag("span", f"accuracy unknown: {one.accuracy_unknown}")
        return tag("li", tag("p", title, unknown), title=model.name)
    value = intervals.plus_minus(one.mean, budget.expanded, row.scale)
    factor = f", k = {budget.expanded / budget.combined:.2f}" if budget.combined > 0 else ""
    head = tag("p", title, tag("b", f"{value} {row.unit}"), tag("span", f" {100 * budget.confidence:g} %{factor}"))
    parts = sorted(budget.components, key=lambda part: -part.standard)
    bar = tag("div", [_share(budget, part, hues[part.name]) for part in parts], class_="shares")
    told = tag("p", [_told(budget, part, row, hues[part.name]) for part in parts], class_="legend")
    return tag("li", head, bar, told, title=model.name)


def _share(budget: Budget, part: Component, hue: str) -> Markup | None:
    share = 100 * budget.share(part)
    return tag("i", class_=hue, style=f"width:{share:.2f}%") if share >= LEAST_SHARE else None


def _told(budget: Budget, part: Component, row: Row, hue: str) -> Markup:
    share = 100 * budget.share(part)
    size = f"{share:.0f} %" if share >= 1 else "below 1 %"
    standard = f" u = {intervals.significant(part.standard * row.scale)} {row.unit}"
    return tag("span", tag("i", class_=hue), f" {part.name} {size}", tag("small", standard), title=part.source)


def _rail(stream: Mapping[str, Any]) -> Markup:
    told = stream["attributes"]
    rows = [
        ("boundary", told.get("boundary")),
        ("covers", told.get("covers")),
        ("gain, standard uncertainty", _scaled(told.get("gain_u"), 100, "%")),
        ("offset, standard uncertainty", _scaled(told.get("offset_u_watts"), 1e3, "mW")),
        ("step", _scaled(told.get("resolution_watts"), 1e3, "mW")),
        ("one reading averages over", _scaled(told.get("averaging_ns"), 1e-6, "ms")),
        ("chip", told.get("chip")),
    ]
    return tag("div", tag("h4", stream["name"]), definitions([(name, value) for name, value in rows if value]))


def _scaled(text: str | None, scale: float, unit: str) -> str | None:
    return None if text is None else f"{float(text) * scale:.4g} {unit}"
