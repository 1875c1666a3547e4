"""A session file made from known truths: constant power, an exact busy share, bytes that follow executions."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kv260_runtime.profile.records import observation_json
from kv260_runtime.workloads import Observation
from telemetry.model import Column, Stream, Window
from telemetry.session.log import RunInfo, SessionLog
from telemetry.session.writer import ChunkWriter

SECOND = 1_000_000_000
MS = 1_000_000
AVERAGING_NS = 8_800_000


@dataclass(frozen=True)
class Truth:
    """What a run is made of."""

    period_ns: int = 20 * MS
    busy_ns: int = 15 * MS
    idle_watts: float = 5.0
    run_watts: float = 9.0
    read_bytes: int = 30_000_000
    """Per execution; the counters' wrap is met every few seconds."""
    background_bytes_per_second: int = 1_000_000
    cpu_share: float = 0.25
    observer_share: float = 0.02
    """Of one core, part of cpu_share's cores."""


def stream(name, kind, period_ns, *columns, **attributes):
    return Stream(name, kind, period_ns, tuple(columns), attributes)


STREAMS = (
    stream("cu", "xrt-cu", MS, Column("status.DPU_1", "1", "state"), Column("usage.DPU_1", "1", "counter")),
    stream(
        "power.som",
        "hwmon-power",
        10 * MS,
        Column("watts", "W", "gauge"),
        averaging_ns=str(AVERAGING_NS),
        boundary="SOM 5 V rail",
        gain_u="0.0015",
        offset_u_watts="0.0144",
        resolution_watts="0.01",
    ),
    stream(
        "apm",
        "apm",
        100 * MS,
        Column("read.slot3", "B", "counter", 2**32),
        Column("write.slot3", "B", "counter", 2**32),
    ),
    stream("cpu", "proc-stat", SECOND, Column("busy.cpu0", "s", "counter"), Column("total.cpu0", "s", "counter")),
    stream("observer", "self-cost", SECOND, Column("cpu_seconds", "s", "counter")),
)


class LogClock:
    """The instant a session's log believes it is."""

    t_ns = 999 * SECOND

    def now_ns(self) -> int:
        return self.t_ns

    def sleep_until_ns(self, due_ns: int) -> None:
        raise AssertionError("a log waits for nothing")


def write_session(
    path: Path, truth: Truth, runs: int = 1, run_seconds: int = 6, models=("m",), factors=None, identity=None
) -> None:
    """A session of `runs` kept runs of each model, each with 2 s idle around it; every model is the same.

    `factors` has for a model what the power of each of its runs is multiplied with.
    """
    clock = LogClock()
    log = SessionLog.create(path, clock)
    log.put_meta("models", [{"name": name, "static": None} for name in models])
    log.put_meta("plan", {"runs": runs, "duration_seconds": run_seconds, "idle_seconds": 2, "trim_seconds": 1})
    if identity is not None:
        log.put_meta("identity", identity)
    begin_ns = 1000 * SECOND
    spans = []
    watts = []
    for index in range(runs):
        for name in models:
            spans.append(_write_run(log, clock, name, index, begin_ns, truth, run_seconds))
            watts.append(truth.run_watts * (factors or {}).get(name, [1.0] * runs)[index])
            begin_ns = spans[-1].end_ns + 3 * SECOND
    for t_ns in range(999 * SECOND, begin_ns + 5 * SECOND, SECOND):
        log.observer_cost(t_ns, (t_ns - 999 * SECOND) / 1e9 * truth.observer_share / 2)
    _write_samples(path, truth, spans, watts, begin_ns + 3 * SECOND)
    log.close()


def _write_run(log, clock, name, index, begin_ns, truth, run_seconds) -> Window:
    clock.t_ns = begin_ns
    run_id = log.start_run(RunInfo(name, "formal", index, 0, {"trim_ns": SECOND}))
    start_ns = begin_ns + 2 * SECOND
    ends = np.arange(start_ns + truth.period_ns, start_ns + run_seconds * SECOND + 1, truth.period_ns)
    starts = ends - truth.period_ns
    window = Window(start_ns, int(ends[-1]))
    log.executions(run_id, starts, ends)
    observed = Observation(
        boundary="synthetic",
        window=window,
        start_ns=starts,
        end_ns=ends,
        executions=len(ends),
        idle_kind="synthetic",
        idle=(Window(begin_ns, start_ns), Window(window.end_ns, window.end_ns + 2 * SECOND)),
    )
    clock.t_ns = observed.idle[-1].end_ns
    log.end_run(run_id, "kept", None, observation_json(observed))
    return window


def _write_samples(path, truth, spans, watts, last_ns) -> None:
    times = {one.name: np.arange(999 * SECOND, last_ns, one.period_ns) + one.period_ns // 3 for one in STREAMS}

    def running(t_ns):
        return np.any([(t_ns >= s.start_ns) & (t_ns < s.end_ns) for s in spans], axis=0)

    def rail(t_ns):
        levels = [
            np.where((t_ns >= s.start_ns) & (t_ns < s.end_ns), level, 0.0)
            for s, level in zip(spans, watts, strict=True)
        ]
        return np.where(running(t_ns), np.sum(levels, axis=0), truth.idle_watts)

    def executed(t_ns):
        """Executions done by t, fractions included, over all spans."""
        return sum(np.clip(t_ns - s.start_ns, 0, s.end_ns - s.start_ns) / truth.period_ns for s in spans)

    cu = times["cu"]
    phase = np.concatenate([[0], (cu[1:] - spans[0].start_ns) % truth.period_ns])
    busy = running(cu) & (phase < truth.busy_ns)
    since = (times["apm"] - 999 * SECOND) / 1e9
    moved = executed(times["apm"]) * truth.read_bytes + since * truth.background_bytes_per_second
    seconds = (times["cpu"] - 999 * SECOND) / 1e9
    half = truth.observer_share / 2 * (times["observer"] - 999 * SECOND) / 1e9
    values = {
        "cu": [np.where(busy, 1, 4), np.ceil(executed(cu)).astype(np.int64)],
        "power.som": [rail(times["power.som"] - AVERAGING_NS)],
        "apm": [moved.astype(np.int64) % 2**32, np.zeros(len(moved), np.int64)],
        "cpu": [seconds * truth.cpu_share, seconds],
        "observer": [half],
    }
    writer = ChunkWriter(path, STREAMS)
    for one in STREAMS:
        columns = [
            array("d", column.astype(float))
            if described.kind == "gauge" or described.unit == "s"
            else array("q", column)
            for described, column in zip(one.columns, values[one.name], strict=True)
        ]
        stamps = array("q", times[one.name].tolist())
        writer.chunk(one.name, stamps, array("q", [0] * len(stamps)), columns)
    writer.close()
