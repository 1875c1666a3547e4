"""A comparison as JSON (schema: docs/schemas/compare.schema.json)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kv260_runtime.compare.comparing import CompareResult, MetricResult, Verdict
from kv260_runtime.compare.planner import PlanResult
from kv260_runtime.compare.sides import Side

SCHEMA_VERSION = 1


def as_json(result: CompareResult | None, plans: Sequence[PlanResult]) -> dict[str, Any]:
    """The whole outcome; `result` is None where only a plan was asked for."""
    told: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "kind": "kvbench compare", "comparison": None}
    if result is not None:
        told["comparison"] = {
            "before": _side(result.before),
            "after": _side(result.after),
            "emulated": bool(result.before.sessions[0].identity.get("emulated", False)),
            "paired": result.paired,
            "method": result.method,
            "metrics": {name: _metric(one) for name, one in result.metrics.items()},
            "verdicts": [_verdict(one) for one in result.verdicts],
            "warnings": list(result.warnings),
            "forced": list(result.refused),
            "exit_code": int(result.exit_code),
        }
    told["plans"] = [asdict(one) for one in plans]
    return told


def _side(side: Side) -> dict[str, Any]:
    return {
        "model": side.models[0].name,
        "sha256": [model.subject.get("sha256") for model in side.models],
        "sessions": [session.session for session in side.sessions],
        "kept_runs": side.kept,
    }


def _metric(one: MetricResult) -> dict[str, Any]:
    ratio = None
    if one.comparison is not None:
        found = one.comparison
        ratio = {
            "value": found.ratio.value,
            "low": found.ratio.low,
            "high": found.ratio.high,
            "degrees": found.degrees if math.isfinite(found.degrees) else None,
        }
    return {"unit": one.unit, "before": one.before, "after": one.after, "ratio": ratio, "unknown": one.unknown}


def _verdict(one: Verdict) -> dict[str, Any]:
    return {
        "metric": one.limit.metric,
        "limit": one.limit.change,
        "answer": one.answer.value,
        "reason": one.reason,
    }
