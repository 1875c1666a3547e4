"""The result as a table for a terminal: models side by side, mean and sample SD over runs, change to the first."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kv260_runtime.profile.result import ProfileResult
from kv260_runtime.report import grid, intervals, words

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 120


def render(result: ProfileResult) -> str:
    """Plain text, at most 120 columns wide for one or two models."""
    parts = [_head(result), _table(result), *_intervals(result), *_notes(result)]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _head(result: ProfileResult) -> str:
    lines = [words.label(result), words.hardware(result.identity), words.plan(result.plan)]
    lines += [f"boundary: {boundary}" for boundary in words.boundaries(result)]
    return "\n".join(line for line in lines if line)


def _table(result: ProfileResult) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="")
    table.add_column("")
    table.add_column("unit")
    for model in result.models:
        table.add_column(model.name, justify="right", overflow="fold")
    for title in grid.change_titles(result):
        table.add_column(title, justify="right", overflow="fold")
    for line in grid.lines(result):
        table.add_row(line.label, line.unit, *line.values, *line.changes)
    return _drawn(table, max(WIDTH, 60 + 32 * len(result.models)))


def _drawn(table: Table, width: int) -> str:
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=width, color_system=None, markup=False).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().strip("\n").splitlines())


def _intervals(result: ProfileResult) -> Iterator[str]:
    """A second table: how well the figures of the first are known."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    lines = list(intervals.interval_lines(result))
    if not lines:
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True, header_style="")
    table.add_column("")
    table.add_column("unit")
    for model in result.models:
        table.add_column(model.name, justify="right", overflow="fold")
        table.add_column("", justify="right")
    for title in grid.change_titles(result):
        table.add_column(title, justify="right", overflow="fold")
    for line in lines:
        table.add_row(line.label, line.unit, *(cell for pair in line.values for cell in pair), *line.changes)
    yield f"\n{textwrap.fill(intervals.CAPTION, WIDTH)}"
    yield _drawn(table, max(WIDTH, 40 + 60 * len(result.models)))


def _notes(result: ProfileResult) -> Iterator[str]:
    """What a reader must know to trust the table: rails, absences, excluded runs, findings, the file."""
    notes = [*words.rails(result), *words.caveats(result)]
    notes.append(f"± is the sample standard deviation over runs; raw samples: {result.session}")
    for note in notes:
        yield textwrap.fill(note, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
