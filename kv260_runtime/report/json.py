"""The result as JSON with unrounded values (schema: docs/schemas/profile.schema.json)."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from kv260_runtime.profile.result import Change, ModelResult, ProfileResult, RunOutcome
from kv260_runtime.report.words import utc
from telemetry.figures.figure import Figure
from telemetry.figures.within_run import BatchMeans
from telemetry.stats import Interval
from telemetry.uncertainty import Budget

SCHEMA_VERSION = 1
"""1: first version."""


def render(result: ProfileResult) -> str:
    """The whole result; keys are documented in the schema."""
    return json.dumps(as_json(result), indent=2, ensure_ascii=False, allow_nan=False)


def as_json(result: ProfileResult) -> dict[str, Any]:
    """The same before it is text."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "kvbench profile",
        "session": result.session,
        "created": utc(result.created_ns),
        "emulated": bool(result.identity.get("emulated", False)),
        "identity": dict(result.identity),
        "plan": dict(result.plan),
        "interrupted": result.interrupted,
        "streams": [dict(stream) for stream in result.streams],
        "missing_sensors": dict(result.missing_sensors),
        "recorder": dict(result.recorder),
        "models": [_model(model) for model in result.models],
        "changes": [_change(one) for one in result.changes],
        "findings": [asdict(finding) for finding in result.findings],
    }


def _model(model: ModelResult) -> dict[str, Any]:
    return {
        **model.subject,
        "kept_runs": model.kept,
        "figures": {
            name: {
                "unit": one.unit,
                "mean": one.mean,
                "sd": one.sd,
                "n": len(one.values),
                "values": list(one.values),
                "source": one.source,
                "repeatability": None if one.repeatability is None else _bounds(one.repeatability),
                "accuracy": None if one.accuracy is None else _budget(one.accuracy),
                "accuracy_unknown": one.accuracy_unknown,
            }
            for name, one in model.summaries.items()
        },
        "absent": dict(model.absent),
        "runs": [_run(run) for run in model.runs],
    }


def _run(run: RunOutcome) -> dict[str, Any]:
    return {
        "id": run.run_id,
        "phase": run.phase,
        "index": run.index,
        "attempt": run.attempt,
        "kept": run.kept,
        "reason": run.reason,
        "boundary": run.boundary,
        "figures": {name: _figure(one) for name, one in run.measured.figures.items()},
        "absent": dict(run.measured.absent),
        "findings": [asdict(finding) for finding in run.measured.findings],
        "seconds": run.measured.seconds,
        "within": {name: _batches(one) for name, one in run.measured.within.items()},
    }


def _bounds(one: Interval) -> dict[str, float]:
    return {"low": one.low, "high": one.high}


def _finite(number: float) -> float | None:
    """JSON has no infinity; degrees of freedom that are infinite are null."""
    return number if math.isfinite(number) else None


def _budget(one: Budget) -> dict[str, Any]:
    return {
        **_bounds(one.interval),
        "expanded": one.expanded,
        "combined": one.combined,
        "degrees": _finite(one.degrees),
        "confidence": one.confidence,
        "components": [{**asdict(part), "degrees": _finite(part.degrees)} for part in one.components],
    }


def _batches(one: BatchMeans) -> dict[str, Any]:
    return {
        "relative_standard_error": one.standard_error / abs(one.mean) if one.mean else None,
        "batches": one.batches,
        "independent": one.independent,
    }


def _change(one: Change) -> dict[str, Any]:
    paired = None
    if one.paired is not None:
        paired = {"ratio": one.paired.ratio.value, **_bounds(one.paired.ratio), "degrees": _finite(one.paired.degrees)}
    return {
        "name": one.name,
        "model": one.model,
        "ratio": one.ratio,
        "pairs": one.pairs,
        "paired": paired,
        "unpaired": one.unpaired,
    }


def _figure(one: Figure) -> dict[str, Any]:
    return {"value": one.value, "unit": one.unit, "source": one.source, "quality": asdict(one.quality)}
