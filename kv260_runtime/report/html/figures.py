"""What a reader looks for first: each model's cost in a card, then every figure side by side."""

from __future__ import annotations

from collections.abc import Iterator

from kv260_runtime.profile.result import ModelResult, ProfileResult, Summary
from kv260_runtime.report import grid
from kv260_runtime.report.html.markup import Markup, join, tag
from kv260_runtime.report.html.scales import plain, prefixed, scale_of
from kv260_runtime.report.html.timeline import chip, colour
from kv260_runtime.report.rows import measure

ENERGY, ABOVE_IDLE = "energy_per_execution.", "energy_above_idle_per_execution."
SMALL_FACTS = (
    ("power.", "W", 1.0, "mean power"),
    ("busy_share.", "%", 100.0, "DPU busy"),
    ("system_share_net", "%", 100.0, "of all CPU cores"),
    ("bytes_per_execution.total", "MB", 1e-6, "moved per execution"),
)


def cards(result: ProfileResult) -> Markup:
    """One card a model: joules per execution, of them above idle, and what else decides."""
    largest = max((one.mean for model in result.models for one in _named(model, ENERGY)), default=0.0)
    return tag("div", [_card(result, place, largest) for place in range(len(result.models))], class_="cards")


def _named(model: ModelResult, prefix: str) -> list[Summary]:
    """The figures of a model whose name begins so; the first rail is the headline."""
    return [one for name, one in model.summaries.items() if name.startswith(prefix)]


def _card(result: ProfileResult, place: int, largest: float) -> Markup:
    model = result.models[place]
    head = tag("h3", chip(place), tag("span", model.name))
    energy = _named(model, ENERGY)
    rate = model.summaries.get("throughput")
    if not energy and rate is None:
        return tag(
            "article", head, tag("p", "No run deserves a number.", class_="big none"), class_=f"card {colour(place)}"
        )
    body: list[Markup] = []
    if energy:
        body += _energy(result, model, energy[0], largest)
    elif rate is not None:
        value, _, spread = measure(rate.mean, rate.sd).partition(" ± ")
        body.append(tag("p", tag("b", value), " 1/s", tag("span", f" ± {spread}") if spread else None, class_="big"))
        body.append(tag("p", f"executions{'; ± is the SD over runs' if spread else ''}", class_="quiet rate"))
    return tag("article", head, body, _facts(model, rate if energy else None), class_=f"card {colour(place)}")


def _energy(result: ProfileResult, model: ModelResult, energy: Summary, largest: float) -> list[Markup]:
    rail = energy.name.removeprefix(ENERGY)
    accuracy = energy.accuracy
    text, unit = prefixed(energy.mean, energy.sd if accuracy is None else accuracy.expanded, "J")
    value, _, spread = text.partition(" ± ")
    meaning = "SD over runs" if accuracy is None else f"{100 * accuracy.confidence:g} % accuracy interval"
    times = _times(result, model, energy.name)
    above = model.summaries.get(ABOVE_IDLE + rail)
    return [
        tag("p", tag("b", value), f" {unit}", tag("span", f" ± {spread}") if spread else None, class_="big"),
        tag("p", f"per execution, rail {rail}", times, f"; ± is the {meaning}" if spread else None, class_="quiet"),
        _bar(energy.mean, above.mean if above else None, largest),
    ]


def _times(result: ProfileResult, model: ModelResult, name: str) -> Markup | None:
    ratio = next((one.ratio for one in result.changes if one.model == model.name and one.name == name), None)
    if ratio is None:
        return None
    return join([", ", tag("b", f"{plain(ratio)}×"), " of ", chip(0)])


def _bar(total: float, above: float | None, largest: float) -> Markup:
    """The energy on a scale that all cards share, the part above idle in the model's colour."""
    share = 100 * total / largest if largest > 0 else 0.0
    part = 100 * above / total if above is not None and total > 0 else 0.0
    caption = None
    if above is not None:
        scale, prefix = scale_of(above)
        caption = f"{plain(above / scale)} {prefix}J of it above idle, in colour"
    inner = tag("i", tag("i", style=f"width:{min(max(part, 0.0), 100.0):.2f}%"), style=f"width:{share:.2f}%")
    return tag("div", inner, tag("p", caption, class_="quiet") if caption else None, class_="bar")


def _facts(model: ModelResult, rate: Summary | None) -> Markup:
    facts = [] if rate is None else [_fact(rate, "1/s", 1.0, "executions")]
    for prefix, unit, scale, words in SMALL_FACTS:
        facts += [_fact(one, unit, scale, words) for one in _named(model, prefix)[:1]]
    return tag("dl", facts, class_="facts")


def _fact(one: Summary, unit: str, scale: float, words: str) -> Markup:
    return tag("div", tag("dd", plain(one.mean * scale, 4), tag("small", f" {unit}")), tag("dt", words))


def table(result: ProfileResult) -> Markup:
    """The table of the terminal; on a narrow screen each figure has a line of its own above its values."""
    heads = [tag("th", chip(place), tag("span", model.name), scope="col") for place, model in enumerate(result.models)]
    changes = [
        tag("th", chip(place), " to ", chip(0), scope="col", class_="change") for place in range(1, len(result.models))
    ]
    head = tag("thead", tag("tr", tag("th", "figure", scope="col"), heads, changes))
    body = tag("tbody", list(_rows(result)))
    return tag("div", tag("table", head, body, class_="figures"), class_="scroll")


def _rows(result: ProfileResult) -> Iterator[Markup]:
    for line in grid.lines(result):
        label = tag("th", line.label.strip(), tag("small", line.unit) if line.unit else None, scope="row")
        values = [tag("td", _split(value)) for value in line.values]
        changes = [tag("td", value, class_="change") for value in line.changes]
        yield tag("tr", label, values, changes, class_="part" if line.is_part else None)


def _split(value: str) -> list[object]:
    """The spread in a quieter voice than the mean."""
    mean, sign, spread = value.partition(" ± ")
    return [mean, tag("span", f" ± {spread}", class_="sd") if sign else None]
