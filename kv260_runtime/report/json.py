"""The result as JSON with unrounded values (schema: docs/schemas/profile.schema.json)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from kv260_runtime.profile.result import ModelResult, ProfileResult, RunOutcome
from kv260_runtime.report.words import utc
from telemetry.figures.figure import Figure

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
        "models": [_model(model) for model in result.models],
        "changes": [asdict(one) for one in result.changes],
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
    }


def _figure(one: Figure) -> dict[str, Any]:
    return {"value": one.value, "unit": one.unit, "source": one.source, "quality": asdict(one.quality)}
