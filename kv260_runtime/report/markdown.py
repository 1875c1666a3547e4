"""The result as Markdown for a pull request: one table, what to beware of below it, how it was made folded away."""

from __future__ import annotations

from collections.abc import Iterator

from kv260_runtime.profile.result import ProfileResult
from kv260_runtime.report import grid, intervals, words
from kv260_runtime.report.words import utc
from telemetry.stats import CONFIDENCE

SPECIAL = "\\`*_{}[]<>|#~"
"""Characters that Markdown or HTML inside Markdown would take for markup."""


def render(result: ProfileResult) -> str:
    """A heading, the table of `kvbench report` and its notes."""
    tables = ["\n".join(_table(result)), "\n".join(_intervals(result))]
    parts = [f"### {_text(words.label(result))}", *tables, *_notes(result), _made(result)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _text(text: str) -> str:
    """Any text on one line, shown as it is."""
    return "".join(f"\\{letter}" if letter in SPECIAL else letter for letter in " ".join(text.split()))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(result: ProfileResult) -> Iterator[str]:
    if not result.models:
        return
    others = result.models[1:]
    yield _row(["", "unit", *(_text(model.name) for model in result.models), *map(_text, grid.change_titles(result))])
    yield _row([":--", ":--", *("--:" for _ in result.models), *("--:" for _ in others)])
    for line in grid.lines(result):
        label = ("↳ " if line.is_part else "") + _text(line.label)
        yield _row([label, line.unit, *line.values, *line.changes])


def _intervals(result: ProfileResult) -> Iterator[str]:
    """How well the headline figures are known: repeatability, accuracy, and the interval of each ratio."""
    lines = list(intervals.interval_lines(result))
    if not lines:
        return
    others = result.models[1:]
    models = [cell for model in result.models for cell in (_text(model.name), "accuracy")]
    yield _row([f"{100 * CONFIDENCE:g} % intervals", "unit", *models, *map(_text, grid.change_titles(result))])
    yield _row([":--", ":--", *("--:" for _ in models), *("--:" for _ in others)])
    for line in lines:
        values = [cell for pair in line.values for cell in pair]
        yield _row([_text(line.label), line.unit, *values, *map(_text, line.changes)])


def _notes(result: ProfileResult) -> Iterator[str]:
    caveats = [f"- {_text(note)}" for note in words.caveats(result)]
    if caveats:
        yield "\n".join(caveats)


def _made(result: ProfileResult) -> str:
    """How the figures came about, folded: a reviewer opens it once."""
    made = utc(result.created_ns)
    lines = [
        words.hardware(result.identity),
        words.plan(result.plan),
        *(f"boundary: {boundary}" for boundary in words.boundaries(result)),
        *words.rails(result),
        "± is the sample standard deviation over runs, except in the table of intervals",
        f"session {result.session}" + (f", made {made}" if made else ""),
    ]
    listed = "\n".join(f"- {_text(line)}" for line in lines if line)
    return f"<details><summary>How it was measured</summary>\n\n{listed}\n\n</details>"
