"""A session file to its result: every figure is computed from what the file holds, so that anyone can repeat it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kv260_runtime.profile.figures import Question, measure
from kv260_runtime.profile.findings import run_findings, session_findings
from kv260_runtime.profile.intervals import changes, summaries
from kv260_runtime.profile.records import RunFacts, run_facts
from kv260_runtime.profile.result import ModelResult, ProfileResult, RunFigures, RunOutcome
from kv260_runtime.profile.within import within_run
from telemetry.errors import NotCovered
from telemetry.model import Stream
from telemetry.session.reader import RunRecord, SessionReader


def evaluate(path: Path) -> ProfileResult:
    """The result of a closed or living session file. Raises SessionError if it is none."""
    with SessionReader(path) as source:
        meta = source.meta()
        subjects = meta.get("models", [])
        streams = source.streams()
        outcomes = [outcome_of(source, record, subject_of(subjects, record)) for record in source.runs()]
    models = [
        model_result(subject, [run for run in outcomes if run.model == subject["name"]], streams)
        for subject in subjects
    ]
    return ProfileResult(
        session=str(path),
        identity=meta.get("identity", {}),
        plan=meta.get("plan", {}),
        models=models,
        changes=changes(models),
        findings=session_findings(models),
        missing_sensors=meta.get("missing_sensors", {}),
        recorder=meta.get("recorder", {}),
        streams=[{"name": one.name, "kind": one.kind, "attributes": dict(one.attributes)} for one in streams],
        interrupted=bool(meta.get("interrupted", False)),
        created_ns=meta.get("created", {}).get("wall_ns"),
    )


def subject_of(subjects: Sequence[Mapping[str, Any]], record: RunRecord) -> Mapping[str, Any]:
    """The subject a run is about."""
    return next(subject for subject in subjects if subject["name"] == record.info.model)


def facts_of(source: SessionReader, record: RunRecord) -> RunFacts:
    """What was observed in one run."""
    return run_facts(record.id, record.result, *source.executions(record.id))


def question_of(source: SessionReader, record: RunRecord, subject: Mapping[str, Any]) -> Question:
    """One run as `measure` wants it."""
    static = subject.get("static")
    return Question(
        facts=facts_of(source, record),
        trim_ns=int(record.info.attributes["trim_ns"]),
        dpu_runs=None if static is None else int(static["dpu_runs"]),
        source=source,
        threads=int(subject.get("threads", 1)),
        static_bytes=None if not static or static["estimated"] else static["read_bytes"] + static["write_bytes"],
    )


def measured_run(question: Question) -> RunFigures:
    """The figures of one run with its findings."""
    measured = measure(question)
    return replace(
        measured,
        findings=run_findings(question, measured),
        within=within_run(question, measured.figures),
        seconds=_seconds(question),
    )


def _seconds(question: Question) -> float | None:
    try:
        return question.steady().seconds
    except NotCovered:
        return None


def outcome_of(source: SessionReader, record: RunRecord, subject: Mapping[str, Any]) -> RunOutcome:
    """One run with its figures; figures are computed for excluded runs too, and count for nothing there."""
    question = question_of(source, record, subject)
    return RunOutcome(
        run_id=record.id,
        model=record.info.model,
        phase=record.info.phase,
        index=record.info.index,
        attempt=record.info.attempt,
        kept=record.status == "kept",
        reason=record.reason,
        boundary=question.facts.boundary,
        measured=measured_run(question),
    )


def model_result(subject: Mapping[str, Any], runs: Sequence[RunOutcome], streams: Sequence[Stream] = ()) -> ModelResult:
    """Figures over the kept formal runs, with what the `streams` behind them say of their accuracy."""
    counted = [run for run in runs if run.kept and run.phase == "formal"]
    found = summaries(counted, streams)
    return ModelResult(subject=subject, runs=tuple(runs), summaries=found, absent=absences(counted, found))


def absences(runs: Sequence[RunOutcome], present: Container[str]) -> dict[str, str]:
    """Figures that no run has, each with the reason given most often."""
    reasons: dict[str, Counter[str]] = {}
    for run in runs:
        for name, reason in run.measured.absent.items():
            if name not in present:
                reasons.setdefault(name, Counter())[reason] += 1
    return {name: counts.most_common(1)[0][0] for name, counts in reasons.items()}
