"""What a reader must know: findings, what is excluded or absent, how sure figures are, how and where they were made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kv260_runtime.profile.result import ProfileResult
from kv260_runtime.report import words
from kv260_runtime.report.html.markup import Markup, join, tag
from kv260_runtime.report.html.scales import plain
from kv260_runtime.report.html.timeline import chip
from telemetry.figures.catalogue import kind_of
from telemetry.figures.figure import Quality
from telemetry.findings import Finding

SEVERITIES = ("error", "warning", "info")
SAMPLED = (("busy_share.", "DPU status"), ("power.", "power"), ("bandwidth.total", "memory"), ("system_share", "CPU"))
"""A figure of each stream whose quality tells how the stream was sampled."""


def findings(result: ProfileResult) -> Markup:
    """All findings, the worst first."""
    if not result.findings:
        return tag("p", "Nothing to report: every check passed.", class_="quiet")
    worst_first = sorted(result.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    return tag("ul", [_finding(one) for one in worst_first], class_="findings")


def _finding(one: Finding) -> Markup:
    return tag("li", tag("b", one.severity, class_=one.severity), tag("p", one.text, tag("span", one.advice)))


def excluded(result: ProfileResult) -> Markup:
    """Runs that do not count, and figures and sensors that are absent, each with the reason."""
    runs = [
        tag("li", chip(place), f" {run}: ", tag("span", reason))
        for place, model in enumerate(result.models)
        for run, reason in words.exclusions(model)
    ]
    absent = [tag("li", f"sensor {kind}: ", tag("span", reason)) for kind, reason in result.missing_sensors.items()]
    absent += [
        tag("li", chip(place), f" {words.figure_label(name)}: ", tag("span", words.reason_in_words(reason)))
        for place, model in enumerate(result.models)
        for name, reason in model.absent.items()
    ]
    return join(
        [
            tag("ul", runs, class_="reasons") if runs else tag("p", "No run was excluded.", class_="quiet"),
            [tag("h3", "Absent"), tag("ul", absent, class_="reasons")] if absent else None,
            tag("p", "Interrupted: the figures are of the runs made until then.") if result.interrupted else None,
        ]
    )


def definitions(rows: Iterator[tuple[str, object]] | Sequence[tuple[str, object]]) -> Markup:
    """Names with what they stand for."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows], class_="terms")


def method(result: ProfileResult) -> Markup:
    """Plan, boundaries, how well each stream was sampled, and what each figure means."""
    rows: list[tuple[str, object]] = [("runs", words.plan(result.plan))]
    rows += [("boundary", boundary) for boundary in words.boundaries(result)]
    rows += [(f"rail {rail.partition(':')[0]}", rail.partition(": ")[2]) for rail in words.rails(result)]
    rows += [(f"recorder {name}", value) for name, value in flat(result.recorder) if name != "streams"]
    return join([definitions(rows), _sampling(result), tag("h3", "What the figures are"), _meanings(result)])


def _sampling(result: ProfileResult) -> Markup | None:
    rows = [_sampled(title, found) for prefix, title in SAMPLED if (found := _qualities(result, prefix))]
    if not rows:
        return None
    heads = ("stream", "readings", "per second", "late, p99", "worst gap", "covered")
    head = tag("thead", tag("tr", [tag("th", name, scope="col") for name in heads]))
    return join(
        [
            tag("h3", "How it was sampled"),
            tag("div", tag("table", head, tag("tbody", rows)), class_="scroll"),
            tag("p", "The worst of all runs that count.", class_="quiet"),
        ]
    )


def _qualities(result: ProfileResult, prefix: str) -> list[Quality]:
    return [
        one.quality
        for model in result.models
        for run in words.formal(model)
        if run.kept
        for name, one in run.measured.figures.items()
        if name == prefix or (prefix.endswith(".") and name.startswith(prefix))
    ]


def _sampled(title: str, found: Sequence[Quality]) -> Markup:
    rates = [one.effective_hz for one in found if one.effective_hz is not None]
    late = [one.late_p99_ns for one in found if one.late_p99_ns is not None]
    gaps = [one.worst_gap_ns for one in found if one.worst_gap_ns is not None]
    cells = (
        str(sum(one.samples for one in found)),
        plain(min(rates)) if rates else "–",
        f"{plain(max(late) / 1e6)} ms" if late else "–",
        f"{plain(max(gaps) / 1e6)} ms" if gaps else "–",
        f"{min(one.covered for one in found):.1%}",
    )
    return tag("tr", tag("th", title, scope="row"), [tag("td", cell) for cell in cells])


def _meanings(result: ProfileResult) -> Markup:
    """Formula and source of each figure that is shown."""
    names = dict.fromkeys(name.partition(".")[0] for model in result.models for name in model.summaries)
    return definitions(
        [(name.replace("_", " "), [kind_of(name).formula, tag("small", kind_of(name).source)]) for name in names]
    )


def identity(result: ProfileResult) -> Markup:
    """The board and its software, then each model's file, as recorded."""
    models = [
        tag("div", tag("h3", chip(place), " ", model.name), definitions(list(flat(_without_name(model.subject)))))
        for place, model in enumerate(result.models)
    ]
    rows = [("session", result.session), ("made", words.utc(result.created_ns) or ""), *flat(result.identity)]
    return tag("div", tag("div", tag("h3", "Board"), definitions(rows)), models, class_="columns")


def _without_name(subject: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in subject.items() if name != "name"}


def flat(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    """Nested facts as rows, the innermost in one row; what is absent or empty is left out.

    >>> list(flat({"dpu": {"cores": 1}, "path": None}))
    [('dpu cores', '1')]
    """
    for name, value in facts.items():
        title = f"{above} {name.replace('_', ' ')}".strip()
        if isinstance(value, Mapping) and above:
            told = ", ".join(f"{key.replace('_', ' ')} {one}" for key, one in flat(value, ""))
            yield from [(title, told)] if told else []
        elif isinstance(value, Mapping):
            yield from flat(value, title)
        elif isinstance(value, bool):
            yield title, "yes" if value else "no"
        elif value not in (None, "", [], ()):
            yield title, " ".join(map(str, value)) if isinstance(value, list) else str(value)
