"""The result as a table for a terminal: models side by side, mean and sample SD over runs, change to the first."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from kv260_runtime.profile.result import ModelResult, ProfileResult
from kv260_runtime.report.rows import Row, change, measure, shown_rows

WIDTH = 120


def render(result: ProfileResult) -> str:
    """Plain text, at most 120 columns wide for one or two models."""
    parts = [_head(result), _table(result), *_notes(result)]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _head(result: ProfileResult) -> str:
    identity, plan = result.identity, result.plan
    emulated = "  (emulated: no hardware was measured)" if identity.get("emulated") else ""
    lines = [f"{identity.get('label', 'unknown board')}{emulated}", *_hardware(identity)]
    length = f"{plan['executions']} executions" if plan.get("executions") else f"{plan.get('duration_seconds', 0):g} s"
    lines.append(
        f"{_count(plan.get('runs', 0), 'run')} of {length}, order {plan.get('order')}, "
        f"{_count(plan.get('smoke', 0), 'smoke run')} per model not counted, "
        f"{plan.get('idle_seconds', 0):g} s idle before and after, {plan.get('trim_seconds', 0):g} s trimmed"
    )
    boundaries = {run.boundary for model in result.models for run in model.runs if run.kept and run.phase == "formal"}
    lines += [f"boundary: {boundary}" for boundary in sorted(boundaries)]
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _hardware(identity: Mapping[str, Any]) -> Iterator[str]:
    dpu, overlay = identity.get("dpu", {}), identity.get("overlay", {})
    facts = [
        dpu.get("architecture"),
        f"{dpu['frequency_mhz']} MHz" if "frequency_mhz" in dpu else None,
        f"xclbin {overlay['xclbin_uuid']}" if "xclbin_uuid" in overlay else None,
        f"governor {identity['governor']}" if "governor" in identity else None,
    ]
    said = ", ".join(str(fact) for fact in facts if fact)
    if said:
        yield said


def _table(result: ProfileResult) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="")
    table.add_column("")
    table.add_column("unit")
    for model in result.models:
        table.add_column(model.name, justify="right", overflow="fold")
    for _ in result.models[1:]:
        table.add_column("change", justify="right")
    for cells in _cells(result):
        table.add_row(*cells)
    text = io.StringIO()
    console = Console(file=text, width=max(WIDTH, 60 + 32 * len(result.models)), color_system=None, markup=False)
    console.print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().strip("\n").splitlines())


def _cells(result: ProfileResult) -> Iterator[list[str]]:
    first, *others = result.models
    yield [
        "kept runs",
        "",
        *(f"{model.kept} of {len(_formal(model))}" for model in result.models),
        *("" for _ in others),
    ]
    names = dict.fromkeys(name for model in result.models for name in model.summaries)
    ratios = {(one.model, one.name): one.ratio for one in result.changes}
    for name, row in shown_rows(names):
        cells = [row.label, row.unit, *(_value(model, name, row) for model in result.models)]
        cells += [_change(first, other, name, row, ratios.get((other.name, name))) for other in others]
        yield cells
        if name == "bytes_above_idle_per_execution.total":
            yield [
                "  by the file's instructions",
                "MB",
                *(_static(model) for model in result.models),
                *("" for _ in others),
            ]


def _formal(model: ModelResult) -> list[object]:
    return [run for run in model.runs if run.phase == "formal"]


def _value(model: ModelResult, name: str, row: Row) -> str:
    one = model.summaries.get(name)
    if one is None:
        return "–"
    return measure(one.mean * row.scale, None if one.sd is None else one.sd * row.scale)


def _change(first: ModelResult, other: ModelResult, name: str, row: Row, ratio: float | None) -> str:
    if ratio is None or name not in first.summaries or name not in other.summaries:
        return ""
    return change(row.change, ratio, first.summaries[name].mean, other.summaries[name].mean, row.scale)


def _static(model: ModelResult) -> str:
    static = model.subject.get("static")
    if not static:
        return "–"
    moved = (static["read_bytes"] + static["write_bytes"]) / 1e6
    return f"about {moved:.4g}" if static["estimated"] else f"{moved:.5g}"


def _excluded(model: ModelResult) -> Iterator[str]:
    """One line for each run and reason; repeats that failed alike are told together."""
    alike: dict[tuple[str, int, str | None], list[int]] = {}
    for run in model.excluded:
        alike.setdefault((run.phase, run.index, run.reason), []).append(run.attempt + 1)
    for (phase, index, reason), attempts in alike.items():
        tried = f"attempt {attempts[0]}" if len(attempts) == 1 else f"attempts {attempts[0]} to {attempts[-1]}"
        yield f"excluded: {model.name} {phase} {index + 1}, {tried} ({reason})"


def _notes(result: ProfileResult) -> Iterator[str]:
    """What a reader must know to trust the table: rails, absences, excluded runs, findings, the file."""
    notes = [
        f"{stream['name'].partition('.')[2]}: {stream['attributes']['boundary']}"
        for stream in result.streams
        if "boundary" in stream["attributes"]
    ]
    if any((model.subject.get("static") or {}).get("estimated") for model in result.models):
        notes.append("about: estimated from tensor sizes, the file holds no instructions")
    notes += [f"absent: {kind} ({reason})" for kind, reason in result.missing_sensors.items()]
    for model in result.models:
        notes += [f"absent for {model.name}: {name} ({reason})" for name, reason in model.absent.items()]
        notes += _excluded(model)
    notes += [f"{finding.severity}: {finding.text}; {finding.advice}" for finding in result.findings]
    if result.interrupted:
        notes.append("interrupted: the figures are of the runs made until then")
    notes.append(f"± is the sample standard deviation over runs; raw samples: {result.session}")
    for note in notes:
        yield textwrap.fill(note, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
