"""How long a report takes, and how much memory, for sessions of 1 to 60 minutes as a KV260 records them.

    python -m tools.bench.report_speed

Exit code 1 if an hour takes more than 10 s or 300 MB, or if time grows faster than the session.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from kv260_runtime.profile.records import observation_json
from kv260_runtime.workloads import Observation
from telemetry.model import Column, Float64Array, Int64Array, Stream, Window
from telemetry.session.log import RunInfo, SessionLog
from telemetry.session.packing import typecode
from telemetry.session.writer import ChunkWriter

SECOND, MS = 1_000_000_000, 1_000_000
CHUNK_NS = SECOND // 2
"""How much the recorder commits at once."""
BEGIN_NS = 1000 * SECOND
IDLE_NS = 3 * SECOND
EXECUTION_NS = 20_600_000

SECONDS_PER_SECOND = {"busy": 0.2, "total": 1.0, "cpu_seconds": 0.03}
"""How fast counters of time go."""

MOST_SECONDS = 10.0
MOST_BYTES = 300_000_000
TRIES = 3
MOST_GROWTH = 1.25
"""CPU seconds per minute of session from 10 minutes to 60 against those from 1 to 10."""

STREAMS = (
    Stream(
        "cu",
        "xrt-cu",
        MS,
        (
            Column("status.DPU_1", "1", "state"),
            Column("usage.DPU_1", "1", "counter"),
            Column("completed.DPU_1", "1", "counter"),
        ),
    ),
    Stream("power.som", "hwmon-power", 10 * MS, (Column("watts", "W", "gauge"),), {"averaging_ns": str(8_800_000)}),
    Stream(
        "apm",
        "apm",
        100 * MS,
        tuple(Column(f"{way}.slot{slot}", "B", "counter", 2**32) for slot in range(1, 6) for way in ("read", "write")),
    ),
    Stream(
        "cpu",
        "proc-stat",
        SECOND,
        tuple(Column(f"{what}.cpu{core}", "s", "counter") for core in range(4) for what in ("busy", "total")),
    ),
    Stream("temperature", "thermal", SECOND, (Column("celsius.pl", "Cel", "gauge"),)),
    Stream("observer", "self-cost", SECOND, (Column("cpu_seconds", "s", "counter"),)),
)


@dataclass(frozen=True)
class Cost:
    """What one report took."""

    minutes: float
    seconds: float
    cpu_seconds: float
    bytes: int


def plan(minutes: float, run_seconds: int) -> list[Window]:
    """Measured windows one after another, with idle between them, until the session is full."""
    found = []
    start_ns = BEGIN_NS + IDLE_NS
    while start_ns + run_seconds * SECOND + IDLE_NS <= BEGIN_NS + round(minutes * 60 * SECOND):
        found.append(Window(start_ns, start_ns + run_seconds * SECOND))
        start_ns = found[-1].end_ns + 2 * IDLE_NS
    return found


def write_session(path: Path, minutes: float, run_seconds: int) -> None:
    """A session of two models in turn, of which every sample is plausible."""
    windows = plan(minutes, run_seconds)
    end_ns = BEGIN_NS + round(minutes * 60 * SECOND)
    log = SessionLog.create(path)
    log.put_meta("models", [{"name": name, "static": None} for name in ("original", "rewritten")])
    log.put_meta("plan", {"runs": len(windows) // 2, "duration_seconds": run_seconds})
    for index, window in enumerate(windows):
        _write_run(log, index, window)
    for t_ns in range(BEGIN_NS, end_ns, SECOND):
        log.observer_cost(t_ns, (t_ns - BEGIN_NS) / 1e9 * 0.01)
    writer = ChunkWriter(path, STREAMS)
    for begin_ns in range(BEGIN_NS, end_ns, 10 * SECOND):
        with writer.transaction():
            for stream in STREAMS:
                _write_samples(writer, stream, begin_ns, min(end_ns, begin_ns + 10 * SECOND), windows)
    writer.close()
    log.close()


def _write_run(log: SessionLog, index: int, window: Window) -> None:
    model = ("original", "rewritten")[index % 2]
    run_id = log.start_run(RunInfo(model, "formal", index // 2, 0, {"trim_ns": SECOND}))
    ends = np.arange(window.start_ns + EXECUTION_NS, window.end_ns, EXECUTION_NS)
    log.executions(run_id, ends - EXECUTION_NS, ends)
    idle = Window(window.start_ns - IDLE_NS, window.start_ns), Window(window.end_ns, window.end_ns + IDLE_NS)
    observed = Observation(boundary="synthetic", window=window, executions=len(ends), idle_kind="synthetic", idle=idle)
    log.end_run(run_id, "kept", None, observation_json(observed))


def _write_samples(writer: ChunkWriter, stream: Stream, begin_ns: int, end_ns: int, windows: Sequence[Window]) -> None:
    noise = np.random.default_rng(begin_ns % 2**32 + len(stream.name))
    slots = np.arange(begin_ns, end_ns, stream.period_ns)
    t_ns = slots + noise.integers(0, stream.period_ns, slots.size)
    late_ns = noise.integers(5_000, 200_000, slots.size)
    columns = list(_values(stream, t_ns, windows, noise))
    cuts = np.searchsorted(slots, np.arange(begin_ns, end_ns + CHUNK_NS, CHUNK_NS))
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if last > first:
            packed = [
                array(typecode(column), values[first:last].tolist())
                for column, values in zip(stream.columns, columns, strict=True)
            ]
            stamps, late = (array("q", one[first:last].tolist()) for one in (t_ns, late_ns))
            writer.chunk(stream.name, stamps, late, packed)


def _values(
    stream: Stream, t_ns: Int64Array, windows: Sequence[Window], noise: np.random.Generator
) -> Iterator[Int64Array | Float64Array]:
    running = np.zeros(t_ns.size, bool)
    for window in windows:
        running |= (t_ns >= window.start_ns) & (t_ns < window.end_ns)
    since = (t_ns - BEGIN_NS) / 1e9
    busy = running & ((t_ns - BEGIN_NS) % EXECUTION_NS < 0.9 * EXECUTION_NS)
    for place, column in enumerate(stream.columns):
        if column.kind == "state":
            yield np.where(busy, 1, 4)
        elif column.unit == "W":
            yield np.round(np.where(running, 8.7, 5.0) + noise.normal(0, 0.05, t_ns.size), 2)
        elif column.unit == "Cel":
            yield np.round(np.where(running, 52.0, 47.0) + noise.normal(0, 0.2, t_ns.size), 1)
        elif column.wrap is not None:
            yield (since * 1e8 * (place + 1)).astype(np.int64) % 2**32
        elif column.unit == "1":
            yield (since * 1e9 / EXECUTION_NS).astype(np.int64)
        else:
            yield np.round(since * SECONDS_PER_SECOND[column.name.partition(".")[0]], 2)


def measure(path: Path, minutes: float, form: str) -> Cost:
    """Run `kvbench report` in a process of its own; again if it was slow, since other programs only ever add."""
    best = _measure(path, minutes, form)
    for _ in range(TRIES - 1):
        if best.seconds <= MOST_SECONDS:
            break
        best = min(best, _measure(path, minutes, form), key=lambda cost: cost.seconds)
    return best


def _measure(path: Path, minutes: float, form: str) -> Cost:
    began = perf_counter()
    command = [sys.executable, "-m", "kv260_runtime.cli.main", "report", str(path), "--format", form]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
    return Cost(minutes, perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, nargs="+", default=[1, 10, 60])
    parser.add_argument("--run-seconds", type=int, nargs="+", default=[60, 3500], help="how long a run is")
    parser.add_argument("--format", nargs="+", default=["html", "json"])
    options = parser.parse_args(arguments)
    faults: list[str] = []
    print(f"{'session':>10} {'runs of':>8} {'format':>8} {'seconds':>8} {'of CPU':>8} {'MB':>6}")
    with TemporaryDirectory(prefix="kvbench-speed-") as folder:
        for run_seconds in options.run_seconds:
            costs: dict[str, list[Cost]] = {form: [] for form in options.format}
            for minutes in options.minutes:
                if run_seconds + 2 * IDLE_NS // SECOND > minutes * 60 and minutes > 1:
                    continue
                path = Path(folder) / f"{minutes:g}-{run_seconds}.kvs"
                write_session(path, minutes, min(run_seconds, round(minutes * 60) - 8))
                for form in options.format:
                    costs[form].append(measure(path, minutes, form))
                    _print(costs[form][-1], run_seconds, form)
                path.unlink()
            faults += [fault for form, series in costs.items() for fault in judge(form, series)]
    print("\n".join(faults) if faults else "within the limits")
    return 1 if faults else 0


def _print(cost: Cost, run_seconds: int, form: str) -> None:
    times = f"{cost.seconds:8.2f} {cost.cpu_seconds:8.2f}"
    print(f"{cost.minutes:7g} min {run_seconds:6} s {form:>8} {times} {cost.bytes / 1e6:6.0f}", flush=True)


def judge(form: str, costs: Sequence[Cost]) -> Iterator[str]:
    """What is beyond the limits; growth is judged by CPU time, which other programs disturb least."""
    for cost in costs:
        if cost.minutes <= 60 and (cost.seconds > MOST_SECONDS or cost.bytes > MOST_BYTES):
            yield f"{form}: {cost.minutes:g} minutes took {cost.seconds:.1f} s and {cost.bytes / 1e6:.0f} MB"
    if len(costs) >= 3:
        first, middle, last = costs[0], costs[-2], costs[-1]
        early = (middle.cpu_seconds - first.cpu_seconds) / (middle.minutes - first.minutes)
        late = (last.cpu_seconds - middle.cpu_seconds) / (last.minutes - middle.minutes)
        if late > MOST_GROWTH * early:
            yield f"{form}: {late:.3f} s per minute beyond {middle.minutes:g} minutes, {early:.3f} s before"


if __name__ == "__main__":
    sys.exit(main())
