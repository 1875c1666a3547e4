"""The result as JSON of pytest-benchmark, which its tools compare: a benchmark is a model, a round is a run."""

from __future__ import annotations

import json
import statistics
from typing import Any

from kv260_runtime.profile.result import ModelResult, ProfileResult
from kv260_runtime.report.words import formal, utc
from telemetry.version import VERSION

TIME = "reciprocal_latency"
"""Seconds per execution, 1 / throughput: the only time that every kind of workload gives."""
GROUP = "seconds per execution, 1 / throughput"
WHISKER_IQRS = 1.5
"""Tukey's fences."""


def render(result: ProfileResult) -> str:
    """One benchmark for each model that has kept runs with a throughput; the others are left out."""
    return json.dumps(as_json(result), indent=2, ensure_ascii=False, allow_nan=False)


def as_json(result: ProfileResult) -> dict[str, Any]:
    """The same before it is text."""
    return {
        "machine_info": _machine(result),
        "commit_info": _commit(result),
        "benchmarks": [_benchmark(result, model) for model in result.models if TIME in model.summaries],
        "datetime": utc(result.created_ns),
        "version": f"kvbench {VERSION}",
    }


def _machine(result: ProfileResult) -> dict[str, Any]:
    identity = result.identity
    return {
        "node": identity.get("label"),
        "processor": identity.get("model"),
        "machine": identity.get("machine"),
        "python_version": identity.get("python"),
        "release": identity.get("kernel"),
        "system": "Linux",
        "cpu": {"brand_raw": identity.get("model"), "governor": identity.get("governor")},
        "emulated": bool(identity.get("emulated", False)),
        "dpu": identity.get("dpu"),
        "overlay": identity.get("overlay"),
    }


def _commit(result: ProfileResult) -> dict[str, Any]:
    """What was measured is a file, not a commit: the digests stand in extra_info."""
    return {
        "id": "unversioned",
        "time": utc(result.created_ns),
        "author_time": None,
        "dirty": False,
        "project": "kvbench",
        "branch": "(unknown)",
    }


def _benchmark(result: ProfileResult, model: ModelResult) -> dict[str, Any]:
    seconds = model.summaries[TIME].values
    return {
        "group": GROUP,
        "name": model.name,
        "fullname": f"{result.identity.get('label', 'unknown board')}::{model.name}",
        "params": None,
        "param": None,
        "extra_info": _extra(model),
        "options": {"disable_gc": False, "timer": "CLOCK_MONOTONIC", "min_rounds": len(seconds), "warmup": True},
        "stats": stats(list(seconds), _executions(model)),
    }


def _extra(model: ModelResult) -> dict[str, Any]:
    """Means of all figures with their units in the name, and the file they are of."""
    means = {f"{name} [{one.unit}]": one.mean for name, one in model.summaries.items()}
    return {"sha256": model.subject.get("sha256"), "kept_runs": model.kept, **means}


def _executions(model: ModelResult) -> int:
    """Executions that the shortest kept run averaged over."""
    counted = [run.measured.figures for run in formal(model) if run.kept]
    return min((one["throughput"].quality.samples for one in counted if "throughput" in one), default=1)


def stats(seconds: list[float], iterations: int) -> dict[str, Any]:
    """The statistics that pytest-benchmark's files hold, of at least one value."""
    ordered = sorted(seconds)
    mean, deviation = statistics.fmean(ordered), statistics.stdev(ordered) if len(ordered) > 1 else 0.0
    low, median, high = _quartiles(ordered)
    within = [one for one in ordered if low - WHISKER_IQRS * (high - low) <= one <= high + WHISKER_IQRS * (high - low)]
    beyond_fences = len(ordered) - len(within)
    beyond_deviation = sum(abs(one - mean) > deviation for one in ordered)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": deviation,
        "rounds": len(ordered),
        "median": median,
        "iqr": high - low,
        "q1": low,
        "q3": high,
        "iqr_outliers": beyond_fences,
        "stddev_outliers": beyond_deviation,
        "outliers": f"{beyond_deviation};{beyond_fences}",
        "ld15iqr": within[0],
        "hd15iqr": within[-1],
        "ops": 1.0 / mean,
        "total": sum(ordered),
        "iterations": iterations,
        "data": seconds,
    }


def _quartiles(ordered: list[float]) -> tuple[float, float, float]:
    if len(ordered) == 1:
        return ordered[0], ordered[0], ordered[0]
    low, median, high = statistics.quantiles(ordered, n=4, method="inclusive")
    return low, median, high
