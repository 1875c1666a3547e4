"""Uncertainty budgets as text: what each figure's accuracy is made of."""

from __future__ import annotations

from collections.abc import Iterator

from kv260_runtime.profile.result import ModelResult, ProfileResult, Summary
from kv260_runtime.report import words
from kv260_runtime.report.columns import aligned
from kv260_runtime.report.intervals import headline_rows, plus_minus, significant
from kv260_runtime.report.rows import Row
from telemetry.uncertainty import Budget, Component

NEGLIGIBLE = 1e-6
"""Of the combined uncertainty; less than that is shown as 0."""


def render(result: ProfileResult) -> str:
    """The budget of every headline figure of every model, largest component first."""
    parts = [words.label(result)]
    for model in result.models:
        for name, row in headline_rows(result):
            if name in model.summaries:
                parts.append("\n".join(_figure(model, model.summaries[name], row)))
    return "\n\n".join(parts) + "\n"


def _figure(model: ModelResult, one: Summary, row: Row) -> Iterator[str]:
    title = f"{model.name}: {row.label.strip()}"
    budget = one.accuracy
    if budget is None:
        yield f"{title}: {one.mean * row.scale:.5g} {row.unit}, accuracy unknown: {one.accuracy_unknown}"
        return
    factor = f"k = {budget.expanded / budget.combined:.2f}, " if budget.combined > 0 else ""
    yield (
        f"{title}: {plus_minus(one.mean, budget.expanded, row.scale)} {row.unit} "
        f"({100 * budget.confidence:g} %, {factor}{_degrees(budget.degrees)} degrees of freedom)"
    )
    rows = [["component", "type", f"u [{row.unit}]", "u [%]", "share [%]", "degrees", "source"]]
    rows += [_component(budget, part, row) for part in sorted(budget.components, key=lambda part: -part.standard)]
    yield from (f"  {line}" for line in aligned(rows))


def _component(budget: Budget, part: Component, row: Row) -> list[str]:
    standard = part.standard if part.standard > NEGLIGIBLE * budget.combined else 0.0
    relative = 100 * standard / abs(budget.value) if budget.value else 0.0
    return [
        part.name,
        part.kind,
        significant(standard * row.scale),
        significant(relative),
        f"{100 * budget.share(part):.1f}",
        _degrees(part.degrees),
        part.source,
    ]


def _degrees(degrees: float) -> str:
    return "inf" if degrees >= 1e4 else f"{degrees:.3g}"
