"""Energy of each part of an execution for every model of a session, run by run and over runs (docs/folding.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kv260_runtime.profile.evaluate import question_of, subject_of
from kv260_runtime.profile.figures import Question
from telemetry.errors import NotCovered
from telemetry.figures.folding import Folding, Segment, fold
from telemetry.session.reader import SessionReader
from telemetry.stats import Interval, mean, repeatability

SPREAD_FROM = 3
"""From so many runs on their spread tells the interval; two would need a t of 12.7."""
UNIT_PREFIX = "status."


@dataclass(frozen=True)
class PartEnergy:
    """One part over the runs of a model."""

    name: str
    kind: str
    seconds: float
    watts: Interval
    joules: Interval
    runs: int
    """How many runs tell it."""


@dataclass(frozen=True)
class ModelFolding:
    """One model on one rail."""

    model: str
    rail: str
    runs: Mapping[int, Folding]
    """By run id."""
    parts: tuple[PartEnergy, ...]
    joules: Interval | None
    """Sum of all parts; None if no run could be folded."""
    total_joules: float | None
    """Energy per execution by plain integration over the same runs."""
    refused: Mapping[str, str]
    """Part, or `run N of the session`, to why it has no figure."""


def fold_session(path: Path) -> list[ModelFolding]:
    """Fold every kept formal run of every model on every power rail. Raises SessionError if `path` is no session."""
    with SessionReader(path) as source:
        subjects = source.meta().get("models", [])
        rails = [stream.name for stream in source.streams() if stream.name.startswith("power.")]
        records = [record for record in source.runs() if record.status == "kept" and record.info.phase == "formal"]
        found: list[ModelFolding] = []
        for subject in subjects:
            mine = [record for record in records if record.info.model == subject["name"]]
            questions = {record.id: question_of(source, record, subject_of(subjects, record)) for record in mine}
            found += [_fold_model(str(subject["name"]), rail, questions) for rail in rails]
        return found


def _fold_model(model: str, rail: str, questions: Mapping[int, Question]) -> ModelFolding:
    runs: dict[int, Folding] = {}
    refused: dict[str, str] = {} if questions else {"the model": "no formal run was kept"}
    for run_id, question in questions.items():
        try:
            runs[run_id] = fold_run(question, rail)
        except NotCovered as reason:
            refused[f"run {run_id} of the session"] = str(reason)
    folded = list(runs.values())
    parts = _parts(folded)
    told = {part.name for part in parts}
    for one in folded:
        refused.update({name: reason for name, reason in one.refused.items() if name not in told})
    return ModelFolding(
        model=model,
        rail=rail.partition(".")[2],
        runs=runs,
        parts=parts,
        joules=_over_runs([one.joules for one in folded]) if folded else None,
        total_joules=mean([one.total_joules for one in folded]) if folded else None,
        refused=refused,
    )


def fold_run(question: Question, rail: str) -> Folding:
    """One run of one model. Raises NotCovered where its executions cannot be folded, with the reason."""
    facts = question.facts
    if not facts.timed:
        raise NotCovered("executions were not timed: use --workload graph or dpu")
    if question.threads != 1:
        raise NotCovered(f"{question.threads} threads overlap their executions: use --threads 1")
    if question.dpu_runs is None:
        raise NotCovered("the number of compute-unit runs of an execution is not known")
    cu = question.series("cu")
    units = [name.removeprefix(UNIT_PREFIX) for name in cu.values if name.startswith(UNIT_PREFIX)]
    if len(units) != 1:
        raise NotCovered(f"{len(units)} compute units share the work; folding needs one")
    return fold(question.series(rail), cu, units[0], facts.end_ns, question.trimmed(), question.dpu_runs)


def _parts(runs: Sequence[Folding]) -> tuple[PartEnergy, ...]:
    """Each part that any run tells, in the order of the execution."""
    by_name: dict[str, list[Segment]] = {}
    for run in runs:
        for segment in run.segments:
            by_name.setdefault(segment.name, []).append(segment)
    return tuple(
        PartEnergy(
            name=name,
            kind=segments[0].kind,
            seconds=mean([segment.seconds for segment in segments]),
            watts=_over_runs([segment.watts for segment in segments]),
            joules=_over_runs([segment.joules for segment in segments]),
            runs=len(segments),
        )
        for name, segments in by_name.items()
    )


def _over_runs(values: Sequence[Interval]) -> Interval:
    """The mean: from three runs on with the interval of their spread, else with what each run tells of itself."""
    if len(values) >= SPREAD_FROM:
        return repeatability([one.value for one in values])
    centre = mean([one.value for one in values])
    half = math.sqrt(sum(one.half_width**2 for one in values)) / len(values)
    return Interval(centre, centre - half, centre + half)


def folding_json(session: str, models: Sequence[ModelFolding]) -> dict[str, Any]:
    """For programs: docs/schemas/fold.schema.json."""
    return {"schema_version": 1, "session": session, "models": [_model_json(one) for one in models]}


def _interval(one: Interval) -> dict[str, float]:
    return {"value": one.value, "low": one.low, "high": one.high}


def _model_json(one: ModelFolding) -> dict[str, Any]:
    return {
        "name": one.model,
        "rail": one.rail,
        "parts": [
            {
                "name": part.name,
                "kind": part.kind,
                "seconds": part.seconds,
                "watts": _interval(part.watts),
                "joules": _interval(part.joules),
                "runs": part.runs,
            }
            for part in one.parts
        ],
        "joules": None if one.joules is None else _interval(one.joules),
        "energy_per_execution": one.total_joules,
        "refused": dict(one.refused),
        "runs": [
            {
                "id": run_id,
                "executions": run.executions,
                "left_out": run.left_out,
                "readings": run.readings,
                "condition": run.condition,
                "independent": run.independent,
            }
            for run_id, run in one.runs.items()
        ],
    }
