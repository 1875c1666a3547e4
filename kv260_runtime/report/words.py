"""What formats say in words: where and how a session was made, and what a reader must know to trust its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from kv260_runtime.profile.result import ModelResult, ProfileResult, RunOutcome, scheduling
from kv260_runtime.report.rows import shown_rows
from telemetry.findings import Finding

EMULATED = "emulated: no hardware was measured"
UNKNOWN_BOARD = "unknown board"


def label(result: ProfileResult) -> str:
    """The board in a few words, with the warning that belongs to an emulated one."""
    emulated = f"  ({EMULATED})" if result.identity.get("emulated") else ""
    return f"{result.identity.get('label', UNKNOWN_BOARD)}{emulated}"


def hardware(identity: Mapping[str, Any]) -> str:
    """DPU, clock, overlay and governor, as far as they are known."""
    dpu, overlay = identity.get("dpu", {}), identity.get("overlay", {})
    facts = [
        dpu.get("architecture"),
        f"{dpu['frequency_mhz']} MHz" if "frequency_mhz" in dpu else None,
        f"xclbin {overlay['xclbin_uuid']}" if "xclbin_uuid" in overlay else None,
        f"governor {identity['governor']}" if "governor" in identity else None,
    ]
    return ", ".join(str(fact) for fact in facts if fact)


def plan(planned: Mapping[str, Any]) -> str:
    """How many runs of what length in which order."""
    executions = planned.get("executions")
    length = f"{executions} executions" if executions else f"{planned.get('duration_seconds', 0):g} s"
    if planned.get("workload") == "command":
        length = "the command's own length"
    return (
        f"{count(planned.get('runs', 0), 'run')} of {length}, order {planned.get('order')}, "
        f"{count(planned.get('smoke', 0), 'smoke run')} per model not counted, "
        f"{planned.get('idle_seconds', 0):g} s idle before and after, {planned.get('trim_seconds', 0):g} s trimmed"
    )


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "run"), count(3, "run")
    ('1 run', '3 runs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def boundaries(result: ProfileResult) -> list[str]:
    """What the times of the runs that count include."""
    return sorted({run.boundary for model in result.models for run in formal(model) if run.kept})


def formal(model: ModelResult) -> list[RunOutcome]:
    """The runs that were made to count."""
    return [run for run in model.runs if run.phase == "formal"]


def rails(result: ProfileResult) -> list[str]:
    """What each rail covers."""
    return [
        f"{stream['name'].partition('.')[2]}: {stream['attributes']['boundary']}"
        for stream in result.streams
        if "boundary" in stream["attributes"]
    ]


def exclusions(model: ModelResult) -> Iterator[tuple[str, str]]:
    """Runs that do not count, each with the reason; repeats that failed alike are told together."""
    alike: dict[tuple[str, int, str | None], list[int]] = {}
    for run in model.excluded:
        alike.setdefault((run.phase, run.index, run.reason), []).append(run.attempt + 1)
    for (phase, index, reason), attempts in alike.items():
        tried = f"attempt {attempts[0]}" if len(attempts) == 1 else f"attempts {attempts[0]} to {attempts[-1]}"
        yield f"{phase} {index + 1}, {tried}", str(reason)


def finding(one: Finding) -> str:
    """A finding with its advice in one line."""
    return f"{one.severity}: {one.text}; {one.advice}"


def static_megabytes(model: ModelResult) -> str | None:
    """Bytes of one execution by the file's instructions, in MB; None if the file was not read."""
    static = model.subject.get("static")
    if not static:
        return None
    moved = (static["read_bytes"] + static["write_bytes"]) / 1e6
    return f"about {moved:.4g}" if static["estimated"] else f"{moved:.5g}"


def any_estimated(result: ProfileResult) -> bool:
    """Whether a model's traffic was estimated, so that `about` needs explaining."""
    return any((model.subject.get("static") or {}).get("estimated") for model in result.models)


def caveats(result: ProfileResult) -> Iterator[str]:
    """Everything that keeps figures from being taken at face value, one line each."""
    if any_estimated(result):
        yield "about: estimated from tensor sizes, the file holds no instructions"
    if result.recorder.get("attached"):
        yield f"recorder: {result.recorder['manner']}"
    yield from scheduling(result.recorder)
    yield from same_files(result)
    yield from (f"absent: {kind} ({reason})" for kind, reason in result.missing_sensors.items())
    for model in result.models:
        yield from (
            f"absent for {model.name}: {figure_label(name)} ({reason_in_words(reason)})"
            for name, reason in model.absent.items()
        )
        yield from (f"excluded: {model.name} {run} ({reason})" for run, reason in exclusions(model))
    yield from map(finding, result.findings)
    if result.interrupted:
        yield "interrupted: the figures are of the runs made until then"


def figure_label(name: str) -> str:
    """A figure as the table calls it.

    >>> figure_label("system_share"), figure_label("observer_seconds.kvbench")
    ('CPU, all cores, with the observer', 'observer_seconds.kvbench')
    """
    return next((row.label.strip() for _, row in shown_rows([name])), name)


def reason_in_words(reason: str) -> str:
    """A reason that names another figure, in the table's words."""
    missing, named, figure = reason.partition("there is no ")
    return f"{missing}{named}{figure_label(figure)}"


def same_files(result: ProfileResult) -> Iterator[str]:
    """Models whose files are the same to the last byte: their difference is that of repeated measurements."""
    alike: dict[str, list[str]] = {}
    for model in result.models:
        if model.subject.get("sha256"):
            alike.setdefault(model.subject["sha256"], []).append(model.name)
    yield from (f"same file: {' and '.join(names)} hold the same bytes" for names in alike.values() if len(names) > 1)


def utc(wall_ns: int | None) -> str | None:
    """An instant of the wall clock to the second, as ISO 8601.

    >>> utc(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20+00:00'
    """
    return None if wall_ns is None else datetime.fromtimestamp(wall_ns // 10**9, timezone.utc).isoformat()
