"""The result as one HTML page that needs nothing else: no request, no framework; readable on a phone and on paper."""

from __future__ import annotations

from kv260_runtime.profile.result import ProfileResult
from kv260_runtime.profile.timeline import Timeline
from kv260_runtime.report import words
from kv260_runtime.report.html import figures, notes, runs, uncertainty
from kv260_runtime.report.html import timeline as plots
from kv260_runtime.report.html.markup import Markup, join, tag
from kv260_runtime.report.html.script import SCRIPT
from kv260_runtime.report.html.style import STYLE
from telemetry.version import VERSION

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
"""What the page may load: nothing."""


def render(result: ProfileResult, timeline: Timeline) -> str:
    """The whole page. Every text that comes from a file or a board is escaped."""
    names = [model.name for model in result.models]
    sections = [
        ("timeline", "Timeline", plots.section(timeline, names)),
        ("figures", "Figures", figures.table(result) if result.models else None),
        ("runs", "Runs", [runs.spreads(result), runs.table(result)] if result.models else None),
        ("findings", "Findings", notes.findings(result)),
        ("excluded", "Excluded and absent", notes.excluded(result)),
        ("uncertainty", "Uncertainty", uncertainty.section(result)),
        ("method", "How it was measured", notes.method(result)),
        ("identity", "Where it was measured", notes.identity(result)),
    ]
    shown = [(name, title, body) for name, title, body in sections if body]
    body = [
        _head(result, [(name, title) for name, title, _ in shown]),
        figures.cards(result) if result.models else None,
        [tag("section", tag("h2", title), content, id=name) for name, title, content in shown],
        _foot(result),
    ]
    return f"<!doctype html>\n{_page(result, tag('main', body))}\n"


def _page(result: ProfileResult, body: Markup) -> Markup:
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"kvbench {VERSION}"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", f"{_subject(result)} – kvbench"),
        Markup(f"<style>{STYLE}</style>"),
    ]
    return tag("html", tag("head", head), tag("body", body, Markup(f"<script>{SCRIPT}</script>")), lang="en")


def _subject(result: ProfileResult) -> str:
    return " and ".join(model.name for model in result.models[:3]) or "session without models"


def _head(result: ProfileResult, contents: list[tuple[str, str]]) -> Markup:
    made = (words.utc(result.created_ns) or "").replace("T", " ").replace("+00:00", " UTC")
    title = [[", " if place else None, model.name] for place, model in enumerate(result.models)]
    return tag(
        "header",
        tag("p", " · ".join(part for part in ("kvbench profile", made) if part), class_="eyebrow"),
        tag("h1", title or "Session without models"),
        tag("p", _lede(result), class_="lede"),
        _emulated(result),
        tag("nav", [tag("a", title, href=f"#{name}") for name, title in contents]),
    )


def _lede(result: ProfileResult) -> str:
    board = [result.identity.get("label", words.UNKNOWN_BOARD), words.hardware(result.identity)]
    return f"{': '.join(filter(None, board))}. {words.plan(result.plan)}."


def _emulated(result: ProfileResult) -> Markup | None:
    if not result.identity.get("emulated"):
        return None
    return tag(
        "p",
        tag("b", "Emulated board: no hardware was measured."),
        " Times, power and traffic come from a model of the board; they show that the measurement works, "
        "not what a board draws.",
        class_="emulated",
        role="note",
    )


def _foot(result: ProfileResult) -> Markup:
    text = f"Made by kvbench {VERSION} from {result.session}, which keeps every sample. "
    return tag("footer", join([text, tag("code", "kvbench replay"), " computes the same figures from them."]))
