"""The result as CSV: one row a run, unrounded figures, units in the header, an empty cell for what is absent."""

from __future__ import annotations

import csv
import io

from kv260_runtime.profile.result import ModelResult, ProfileResult, RunOutcome
from kv260_runtime.report.words import utc

ABOUT_THE_RUN = ("session", "created", "board", "emulated", "model", "phase", "run", "attempt", "kept", "reason")


def render(result: ProfileResult) -> str:
    """Every run in the order it was made, smoke runs and excluded ones too: `kept` and `phase` say which count."""
    units = _units(result)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*ABOUT_THE_RUN, "boundary", *(f"{name} [{unit}]" for name, unit in units.items())])
    for model, run in in_order(result):
        table.writerow([*_about(result, model, run), run.boundary, *_values(run, list(units))])
    return text.getvalue()


def in_order(result: ProfileResult) -> list[tuple[ModelResult, RunOutcome]]:
    """All runs of all models as they followed each other."""
    return sorted(((model, run) for model in result.models for run in model.runs), key=lambda pair: pair[1].run_id)


def _units(result: ProfileResult) -> dict[str, str]:
    """Every figure that any run has, with its unit, in the order in which figures are computed."""
    return {
        name: one.unit for model in result.models for run in model.runs for name, one in run.measured.figures.items()
    }


def _about(result: ProfileResult, model: ModelResult, run: RunOutcome) -> list[object]:
    return [
        result.session,
        utc(result.created_ns) or "",
        result.identity.get("label", ""),
        "yes" if result.identity.get("emulated") else "no",
        model.name,
        run.phase,
        run.index + 1,
        run.attempt + 1,
        "yes" if run.kept else "no",
        run.reason or "",
    ]


def _values(run: RunOutcome, names: list[str]) -> list[str]:
    figures = run.measured.figures
    return [repr(figures[name].value) if name in figures else "" for name in names]
