"""A board in which time passes only when a test says so."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from virtual_board.apm import Monitor
from virtual_board.constants import Constants
from virtual_board.cpu import Processor
from virtual_board.cu import ComputeUnit
from virtual_board.engine import Engine, Execution, Parts
from virtual_board.eventlog import EventLog
from virtual_board.plan import Plan
from virtual_board.power import PowerSensor
from virtual_board.state import Level
from virtual_board.timers import Timers

START_NS = 1_000_000_000_000


@dataclass
class Bench:
    """All parts on one timeline, played by `run_until`."""

    root: Path
    constants: Constants
    timers: Timers
    parts: Parts
    engine: Engine
    log: EventLog
    log_path: Path
    now_ns: int = START_NS
    ends: list[tuple[int, str, int]] = field(default_factory=list)
    """(client, outcome, when) of executions."""

    def now(self) -> int:
        return self.now_ns

    def run_until(self, end_ns: int, watch: Callable[[], None] = lambda: None) -> None:
        """Let everything due by then happen at its instant; `watch` is called after each."""
        while (due_ns := self.timers.next_due_ns()) is not None and due_ns <= end_ns:
            self.now_ns = max(self.now_ns, due_ns)
            self.timers.run_due(self.now_ns)
            watch()
        self.now_ns = end_ns

    def submit(self, plan: Plan, client: int = 1, start_ns: int | None = None, number: int = 1) -> Execution:
        """One execution, its plan announced in the log first."""
        self.log.add("client", client, 1000 + client, client, self.now_ns)
        self.log.add("plan", client, client, plan.to_json())

        def end(execution: Execution, outcome: str) -> None:
            self.ends.append((execution.client, outcome, self.now_ns))
            if outcome == "done":
                self.log.add("done", client, client, number, self.now_ns, execution.cursor_ns)

        durations_ns = [segment.duration_ns for segment in plan.segments]
        execution = Execution(client, client, plan, number, durations_ns, end)
        self.engine.submit(execution, self.now_ns if start_ns is None else start_ns)
        return execution

    def close(self) -> None:
        self.log.close()
        if self.parts.apm is not None:
            self.parts.apm.close()

    def cu_line(self) -> str:
        return (self.root / "sys/class/drm/renderD128/device/kds_custat_raw").read_text()

    def status(self) -> int:
        return int(self.cu_line().split(",")[4], 16)

    def records(self, kind: str) -> list[list[Any]]:
        """Records of one kind so far, without the kind."""
        self.log.flush()
        lines = self.log_path.read_text().splitlines()[1:]
        return [values for first, *values in map(json.loads, lines) if first == kind]


@pytest.fixture
def new_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Bench]]:
    """Makes boards, as many as a property test needs."""
    made: list[Bench] = []

    def make() -> Bench:
        made.append(make_bench(tmp_path_factory.mktemp("board")))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


@pytest.fixture
def bench(new_bench: Callable[[], Bench]) -> Bench:
    return new_bench()


def make_bench(folder: Path) -> Bench:
    root = folder / "root"
    root.mkdir()
    constants = Constants()
    rail = Level(START_NS, constants.idle_watts)
    timers = Timers()
    log_path = folder / "events.jsonl"
    header = {"constants": constants.to_json()}
    log = EventLog(log_path, header)
    made: list[Bench] = []
    parts = Parts(
        cu=ComputeUnit(root, random.Random(1), lambda: made[0].now_ns if made else START_NS),
        cpu=Processor(root, constants, random.Random(1), START_NS, 1_700_000_000),
        rail=rail,
        power=PowerSensor(root, constants, random.Random(1), rail, START_NS),
        apm=Monitor(root, constants, random.Random(1), START_NS),
    )
    engine = Engine(parts, constants, timers, log, lambda: made[0].now_ns)
    made.append(Bench(root, constants, timers, parts, engine, log, log_path))
    return made[0]
