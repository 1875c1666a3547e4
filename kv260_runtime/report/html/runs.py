"""Single runs: how far each lies from its model's mean, and a table with every run that was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kv260_runtime.profile.result import ModelResult, ProfileResult, RunOutcome, Summary
from kv260_runtime.report.csv import in_order
from kv260_runtime.report.html.markup import Markup, tag
from kv260_runtime.report.html.scales import ceiling, plain
from kv260_runtime.report.html.timeline import chip, colour, key
from kv260_runtime.report.rows import Row, shown_rows

COLUMNS = (
    "throughput",
    "latency.p50",
    "power.",
    "energy_per_execution.",
    "energy_above_idle_per_execution.",
    "busy_share.",
    "system_share_net",
    "bytes_per_execution.total",
)
"""Figures of the table, by name or prefix."""
SPREADS = ("throughput", "energy_per_execution.", "busy_share.", "bytes_per_execution.total")
"""Figures whose spread over runs is drawn."""
LEAST_SPREAD = 1e-3
"""Percent or points; runs that are nearer to each other are drawn as equal."""


def _chosen(result: ProfileResult, wanted: Sequence[str]) -> list[tuple[str, Row]]:
    names = dict.fromkeys(name for _, run in in_order(result) for name in run.measured.figures)
    prefixes = tuple(name for name in wanted if name.endswith("."))
    return [pair for pair in shown_rows(names) if pair[0] in wanted or pair[0].startswith(prefixes)]


def spreads(result: ProfileResult) -> Markup | None:
    """A picture for each headline figure: every run that counts, as its distance from its model's mean."""
    pictures = [_spread(result, name, row) for name, row in _chosen(result, SPREADS)]
    if not any(pictures):
        return None
    note = "Each dot is one run that counts, in the order of runs, as its distance from the mean of its model."
    return tag("div", tag("div", pictures, class_="spreads"), tag("p", note, class_="quiet"))


def _spread(result: ProfileResult, name: str, row: Row) -> Markup | None:
    known = [(place, model.summaries[name]) for place, model in enumerate(result.models) if name in model.summaries]
    known = [(place, one) for place, one in known if len(one.values) > 1 and one.mean]
    if not known:
        return None
    points = row.change == "points"
    apart = {place: _deviations(one, points) for place, one in known}
    top = ceiling(max(LEAST_SPREAD, *(abs(value) for values in apart.values() for value in values)))
    unit = "points" if points else "%"
    dots = [dot for place, values in apart.items() for dot in _dots(place, values, top, unit, len(apart))]
    told = [tag("span", chip(place), f" SD {plain(_sd(one, points), 2)} {unit}") for place, one in known]
    return tag(
        "figure",
        tag("figcaption", tag("b", row.label.strip())),
        tag(
            "div",
            tag("span", f"+{top:.3g} {unit}", class_="top"),
            tag("span", f"−{top:.3g} {unit}", class_="bottom"),
            tag("i", class_="mean"),
            dots,
            class_="dots",
            role="img",
            aria_label=f"spread of {row.label.strip()} over runs, at most {plain(top)} {unit} from the mean",
        ),
        tag("p", told, class_="legend"),
    )


def _deviations(one: Summary, points: bool) -> list[float]:
    return [(value - one.mean) * 100 / (1.0 if points else abs(one.mean)) for value in one.values]


def _sd(one: Summary, points: bool) -> float:
    return (one.sd or 0.0) * 100 / (1.0 if points else abs(one.mean))


def _dots(place: int, values: list[float], top: float, unit: str, models: int) -> Iterator[Markup]:
    for run, value in enumerate(values):
        left = 100 * (run + (place % models + 1) / (models + 1)) / len(values)
        height = 50 - 46 * value / top
        title = f"{key(place)} {run + 1}: {value:+.3g} {unit}"
        yield tag("i", class_=f"dot {colour(place)}", style=f"left:{left:.2f}%;top:{height:.2f}%", title=title)


def table(result: ProfileResult) -> Markup:
    """Every run in the order it was made; those that do not count are struck through quietly and say why."""
    columns = _chosen(result, COLUMNS)
    heads = [tag("th", _heading(row), tag("small", row.unit), scope="col") for _, row in columns]
    head = tag("thead", tag("tr", tag("th", "run", scope="col"), heads, tag("th", "verdict", scope="col")))
    places = {model.name: place for place, model in enumerate(result.models)}
    rows = [_row(model, places[model.name], run, columns) for model, run in in_order(result)]
    return tag("div", tag("table", head, tag("tbody", rows), class_="runs"), class_="scroll")


def _heading(row: Row) -> str:
    """The label of a part, which stands alone here."""
    return row.label.strip().removeprefix("of it ")


def _row(model: ModelResult, place: int, run: RunOutcome, columns: list[tuple[str, Row]]) -> Markup:
    again = f", attempt {run.attempt + 1}" if run.attempt else ""
    smoke = "smoke " if run.phase == "smoke" else ""
    name = tag("th", chip(place), f" {smoke}{run.index + 1}{again}", scope="row", title=model.name)
    figures = run.measured.figures
    cells = [tag("td", plain(figures[key].value * row.scale, 5) if key in figures else "–") for key, row in columns]
    counts = run.kept and run.phase == "formal"
    verdict = "kept" if counts else f"excluded: {run.reason}" if run.reason else "smoke, not counted"
    return tag("tr", name, cells, tag("td", verdict, class_="words"), class_=None if counts else "uncounted")
