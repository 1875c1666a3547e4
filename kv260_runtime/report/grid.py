"""The table that every readable format shows: one line a figure, one value a model, the change to the first model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kv260_runtime.profile.result import ModelResult, ProfileResult
from kv260_runtime.report import words
from kv260_runtime.report.rows import Row, change, measure, shown_rows

ABSENT = "–"


@dataclass(frozen=True)
class Line:
    """One line of the table, ready to be shown."""

    label: str
    """Begins with two spaces where the figure is a part of the one above."""
    unit: str
    values: tuple[str, ...]
    """Mean ± sample SD of each model, a dash where it has none."""
    changes: tuple[str, ...]
    """How each later model differs from the first, empty where that says nothing."""

    @property
    def is_part(self) -> bool:
        """Whether the figure is a part of the one above."""
        return self.label.startswith(" ")


def change_titles(result: ProfileResult) -> list[str]:
    """What stands above the changes: of several, each says between which models."""
    first, *others = [model.name for model in result.models] or [""]
    return ["change"] * len(others) if len(others) < 2 else [f"{other} to {first} (first)" for other in others]


def lines(result: ProfileResult) -> Iterator[Line]:
    """All lines in reading order; none for a session without models."""
    if not result.models:
        return
    nothing = ("",) * (len(result.models) - 1)
    kept = tuple(f"{model.kept} of {len(words.formal(model))}" for model in result.models)
    yield Line("kept runs", "", kept, nothing)
    names = dict.fromkeys(name for model in result.models for name in model.summaries)
    for name, row in shown_rows(names):
        yield Line(
            row.label, row.unit, tuple(_value(model, name, row) for model in result.models), _changes(result, name, row)
        )
        if name == "bytes_above_idle_per_execution.total":
            static = tuple(words.static_megabytes(model) or ABSENT for model in result.models)
            yield Line("  by the file's instructions", "MB", static, nothing)


def _value(model: ModelResult, name: str, row: Row) -> str:
    one = model.summaries.get(name)
    if one is None:
        return ABSENT
    return measure(one.mean * row.scale, None if one.sd is None else one.sd * row.scale)


def _changes(result: ProfileResult, name: str, row: Row) -> tuple[str, ...]:
    first, *others = result.models
    ratios = {one.model: one.ratio for one in result.changes if one.name == name}
    return tuple(
        change(row.change, ratios[other.name], first.summaries[name].mean, other.summaries[name].mean, row.scale)
        if other.name in ratios
        else ""
        for other in others
    )
