"""The averaging time of each rail, measured under a load that goes on and off, against what the profile says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path

from kv260_runtime.boards import BoardSession
from kv260_runtime.doctor.check import Check
from kv260_runtime.doctor.recording import Recorded
from kv260_runtime.errors import RunFailed
from kv260_runtime.workloads import WorkloadSpec
from kv260_runtime.workloads.child import Child
from kv260_runtime.workloads.loop import Loop
from telemetry.clock import Clock
from telemetry.errors import NotCovered
from telemetry.figures.power import averaging_ns
from telemetry.model import Series
from telemetry.probe import averaging_time

ON_NS = 120_000_000
OFF_NS = 80_000_000
BURSTS = 24
"""With what a child's answer takes, some six seconds."""
START_NS = 60_000_000_000
STALL_NS = 30_000_000_000
AGREES = 0.15
"""Relative difference from which the profile's averaging time is doubted."""
DEMO_GROUP = "kvbench.models"


def demo_model(folder: Path) -> Path | None:
    """The demo model of one DPU subgraph, for emulated boards; None if no package offers it."""
    for point in entry_points(group=DEMO_GROUP):
        if point.name == "demo":
            models = list(point.load()(folder))
            return Path(models[-1])
    return None


def square_wave(board: BoardSession, model: Path, clock: Clock) -> None:
    """Let the model run and rest in turn. Raises RunFailed, with the worker's last words, if it does not run."""
    environment = {**os.environ, **board.environment}
    command = Loop(WorkloadSpec("graph", model)).command()
    with Child(command, clock, environment, report=True) as child:
        _await(child, clock, b"ready", START_NS)
        for _ in range(BURSTS):
            child.send(f"time {ON_NS}")
            _await(child, clock, b"done", STALL_NS)
            clock.sleep_until_ns(clock.now_ns() + OFF_NS)
        child.send("quit")
        child.wait()


def _await(child: Child, clock: Clock, word: bytes, timeout_ns: int) -> None:
    last = ""
    for line in child.lines(clock.now_ns() + timeout_ns, lambda: None):
        if line.source == "report" and line.text.startswith(word):
            return
        if line.text.strip() and not line.text.startswith(b"x "):
            last = line.text.decode(errors="replace")
    raise RunFailed(f"the model did not run: {last or 'its worker said nothing'}")


def check_averaging(found: Recorded) -> list[Check]:
    """One check a rail of what was recorded under the load."""
    units = [name.removeprefix("status.") for name in _columns(found.series.get("cu")) if name.startswith("status.")]
    rails = [series for name, series in found.series.items() if name.startswith("power.")]
    if not units or not rails:
        lacking = "compute unit" if not units else "power rail"
        return [Check("averaging time", "absent", f"no {lacking} to measure it with")]
    return [_check_rail(rail, found.series["cu"], units[0]) for rail in rails]


def _columns(series: Series | None) -> Iterable[str]:
    return [] if series is None else series.values


def _check_rail(rail: Series, cu: Series, unit: str) -> Check:
    name = f"averaging time {rail.stream.name}"
    try:
        found = averaging_time(rail, cu, unit)
    except NotCovered as reason:
        return Check(name, "warn", f"cannot be measured: {reason}")
    told = (
        f"{found.seconds * 1e3:.2f} ms +- {found.half_width * 1e3:.2f} ms measured "
        f"({found.load_watts:.2f} W of load explain {found.explained:.0%} of the readings)"
    )
    values = {"seconds": found.seconds, "half_width_seconds": found.half_width, "load_watts": found.load_watts}
    stated_ns = averaging_ns(rail.stream)
    remedy = f"set averaging_ms: {found.seconds * 1e3:.1f} for this chip in a board profile of your own (--board FILE)"
    if stated_ns is None:
        return Check(name, "warn", f"{told}; the profile states none", remedy, values)
    stated = stated_ns / 1e9
    told += f", {stated * 1e3:g} ms stated by {rail.stream.attributes.get('averaging_source', 'the profile')}"
    if abs(found.seconds - stated) > AGREES * stated + found.half_width:
        return Check(name, "warn", told, remedy, values)
    return Check(name, "ok", told, values=values)


def skipped(reason: str) -> Check:
    """The averaging time when no load is possible."""
    return Check("averaging time", "absent", f"not measured: {reason}", f"{Path(sys.argv[0]).name} doctor MODEL")
