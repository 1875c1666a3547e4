"""The session as a trace in Chrome's Trace Event format, which Perfetto opens: runs, executions, counters, gaps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

import numpy as np

from kv260_runtime.profile.result import ProfileResult
from kv260_runtime.profile.timeline import Band, Timeline, Track
from kv260_runtime.report import words
from telemetry.model import Int64Array, Window
from telemetry.version import VERSION

RUNS, EXECUTIONS, SENSORS = 1, 2, 3
"""Process ids of the trace; they group what is shown together."""
RUN_THREAD, GAP_THREAD = 1, 1
SHARES = ("busy", "core")
UNITS = {"B/s": ("MB/s", 1e-6), "Hz": ("MHz", 1e-6), "Cel": ("°C", 1.0)}
"""SI unit to the one shown and its scale."""


def render(result: ProfileResult, timeline: Timeline) -> str:
    """A JSON object with `traceEvents`; times are microseconds from the timeline's start, to the nanosecond."""
    head = {"displayTimeUnit": "ms", "otherData": _about(result, timeline)}
    events = ",\n".join(_events(result, timeline))
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "traceEvents": [\n{events}\n]}}'


def _about(result: ProfileResult, timeline: Timeline) -> dict[str, Any]:
    left_out = [_title(band) for band in timeline.bands if band.window and band.run_id not in timeline.executions]
    return {
        "session": result.session,
        "board": words.label(result),
        "emulated": bool(result.identity.get("emulated", False)),
        "kvbench": VERSION,
        "origin_monotonic_ns": timeline.start_ns,
        "counter_bin_ms": timeline.bin_ns / 1e6,
        "runs_without_single_executions": left_out,
    }


def _events(result: ProfileResult, timeline: Timeline) -> Iterator[str]:
    emulated = f" ({words.EMULATED})" if result.identity.get("emulated") else ""
    yield from _names(RUNS, f"runs{emulated}", {RUN_THREAD: "runs"})
    for band in timeline.bands:
        yield from _run(band, timeline.start_ns)
    yield from _executions(timeline)
    yield from _names(SENSORS, f"sensors{emulated}", {GAP_THREAD: "spans without samples"})
    for track in timeline.tracks:
        yield from _counter(track, timeline)
    yield from _gaps(timeline)


def _names(process: int, name: str, threads: dict[int, str]) -> Iterator[str]:
    """Metadata: what the viewer calls a process and its threads, and their order."""
    yield _event({"ph": "M", "pid": process, "tid": 0, "name": "process_name", "args": {"name": name}})
    yield _event({"ph": "M", "pid": process, "tid": 0, "name": "process_sort_index", "args": {"sort_index": process}})
    for thread, title in threads.items():
        yield _event({"ph": "M", "pid": process, "tid": thread, "name": "thread_name", "args": {"name": title}})


def _event(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False)


def _us(t_ns: int) -> float:
    return t_ns / 1000


def _span(process: int, thread: int, name: str, span: Window, start_ns: int, args: dict[str, Any]) -> str:
    return _event(
        {
            "ph": "X",
            "pid": process,
            "tid": thread,
            "name": name,
            "ts": _us(span.start_ns - start_ns),
            "dur": _us(max(0, span.end_ns - span.start_ns)),
            "args": args,
        }
    )


def _title(band: Band) -> str:
    again = f", attempt {band.attempt + 1}" if band.attempt else ""
    return f"{band.model} {band.phase} {band.index + 1}{again}"


def _run(band: Band, start_ns: int) -> Iterator[str]:
    """The whole run with its idle and measured spans nested in it, and its markers."""
    verdict = {"run": band.run_id, "kept": band.kept, "phase": band.phase, "reason": band.reason or ""}
    yield _span(RUNS, RUN_THREAD, _title(band), band.whole, start_ns, verdict)
    parts = [("idle", idle) for idle in band.idle] + ([("measured", band.window)] if band.window else [])
    for name, part in sorted(parts, key=lambda pair: pair[1].start_ns):
        yield _span(RUNS, RUN_THREAD, name, part, start_ns, {})
    for marker in band.markers:
        place = {"pid": RUNS, "tid": RUN_THREAD, "ts": _us(marker.t_ns - start_ns)}
        yield _event({"ph": "i", "s": "t", **place, "name": marker.name})


def _executions(timeline: Timeline) -> Iterator[str]:
    """Single executions, each on the first line that is free: as many lines as ran at once."""
    lanes = 0
    for band in timeline.bands:
        started, ended = timeline.executions.get(band.run_id, (None, np.empty(0, np.int64)))
        if started is None:
            yield from _completions(band, ended, timeline.start_ns)
            continue
        name = json.dumps(band.model, ensure_ascii=False)
        order = np.argsort(started, kind="stable")
        begins, ends = started[order].tolist(), ended[order].tolist()
        for begin_ns, end_ns, lane in zip(begins, ends, assign_lanes(begins, ends), strict=True):
            lanes = max(lanes, lane + 1)
            yield (
                f'{{"ph": "X", "pid": {EXECUTIONS}, "tid": {lane + 1}, "name": {name}, '
                f'"ts": {_us(begin_ns - timeline.start_ns):.3f}, "dur": {_us(end_ns - begin_ns):.3f}}}'
            )
    if timeline.executions:
        yield from _names(EXECUTIONS, "executions", {lane + 1: f"execution line {lane + 1}" for lane in range(lanes)})


def _completions(band: Band, ended: Int64Array, start_ns: int) -> Iterator[str]:
    """Where only ends are known, an instant each: nothing is said of when they began."""
    for end_ns in ended.tolist():
        place = {"pid": EXECUTIONS, "tid": 1, "ts": _us(end_ns - start_ns)}
        yield _event({"ph": "i", "s": "t", **place, "name": f"{band.model} completed"})


def assign_lanes(begins: list[int], ends: list[int]) -> list[int]:
    """The lowest line that is free for each span, spans in order of their beginning; spans on a line never overlap."""
    free: list[int] = []
    running: list[tuple[int, int]] = []
    lanes, found = 0, []
    for begin, end in zip(begins, ends, strict=True):
        while running and running[0][0] <= begin:
            heappush(free, heappop(running)[1])
        if not free:
            heappush(free, lanes)
            lanes += 1
        lane = heappop(free)
        heappush(running, (end, lane))
        found.append(lane)
    return found


def _counter(track: Track, timeline: Timeline) -> Iterator[str]:
    """A value whenever it changes. The format has no word for "unknown": a viewer holds the last value over a gap."""
    kind, _, part = track.name.partition(".")
    unit, scale = ("%", 100.0) if kind in SHARES else UNITS.get(track.unit, (track.unit, 1.0))
    name = json.dumps(f"{kind} {part} [{unit}]" if part else f"{kind} [{unit}]", ensure_ascii=False)
    last = None
    for place, value in enumerate((track.mean * scale).round(3).tolist()):
        if value == last or value != value:
            continue
        last = value
        ts = _us(place * timeline.bin_ns)
        yield f'{{"ph": "C", "pid": {SENSORS}, "name": {name}, "ts": {ts:.3f}, "args": {{"value": {value}}}}}'


def _gaps(timeline: Timeline) -> Iterator[str]:
    """Spans without samples that are long enough to show in a counter."""
    for stream, gaps in timeline.gaps.items():
        for gap in gaps:
            if gap.end_ns - gap.start_ns >= timeline.bin_ns:
                span = Window(gap.start_ns, gap.end_ns)
                told = {"reason": gap.reason, "missed": gap.missed}
                yield _span(SENSORS, GAP_THREAD, f"no {stream}", span, timeline.start_ns, told)
