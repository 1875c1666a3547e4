"""Plays executions: commands queue for the compute unit, host work for the cores, all on one timeline.

Instants are computed, not awaited: a segment begins when its predecessor was due to end, so the lateness of one event
never adds to the next. Status flips and bytes follow when the event loop gets there, and the log has those instants.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from virtual_board.apm import Monitor
from virtual_board.clock import Now
from virtual_board.constants import Constants
from virtual_board.cpu import Processor
from virtual_board.cu import ComputeUnit
from virtual_board.eventlog import EventLog
from virtual_board.plan import Plan, Segment
from virtual_board.power import PowerSensor
from virtual_board.state import Level
from virtual_board.timers import Timers

PUBLISH_NS = 4_000_000
"""How often the memory counters advance during a run."""
LOST_INTERRUPT_NS = 500_000_000
"""The driver looks at the CU at least twice a second (board 1.5)."""


@dataclass
class Parts:
    """The emulated parts that executions act on; a board may lack power and memory monitor."""

    cu: ComputeUnit
    cpu: Processor
    rail: Level
    """Watts of the SOM rail, whether or not a sensor shows them."""
    power: PowerSensor | None
    apm: Monitor | None


@dataclass
class Execution:
    """One execution under way."""

    client: int
    plan_id: int
    plan: Plan
    number: int
    durations_ns: list[int]
    on_end: Callable[[Execution, str], None]
    """Called with `done`, `hung` or `failed`."""
    cursor_ns: int = 0
    """When the current segment begins or began, by the schedule."""
    index: int = -1
    cancelled: bool = False
    core: int = 0
    """The core it ran on last, tried first again."""


@dataclass
class Trouble:
    """Faults the next commands meet."""

    lose_interrupt: bool = False
    hang: bool = False
    wedge: bool = False


@dataclass
class _Run:
    """The command in the compute unit."""

    execution: Execution
    started_ns: int
    watts: float
    active: bool = False
    """Whether it moves bytes and draws power."""
    active_ns: int = 0
    trouble: Trouble = field(default_factory=Trouble)


class Engine:
    """Compute unit, cores and the executions that share them."""

    def __init__(self, parts: Parts, constants: Constants, timers: Timers, log: EventLog, now: Now) -> None:
        self.trouble = Trouble()
        self._parts = parts
        self._constants = constants
        self._timers = timers
        self._log = log
        self._now = now
        self._commands: deque[Execution] = deque()
        self._host_work: deque[Execution] = deque()
        self._free_cores = set(range(constants.core_count))
        self._run: _Run | None = None

    def submit(self, execution: Execution, start_ns: int) -> None:
        """Begin an execution at an instant that may have passed."""
        execution.cursor_ns = start_ns
        self._advance(execution)

    def abandon(self, client: int) -> None:
        """A client is gone: nothing of it begins any more; what the compute unit runs, it finishes."""
        for queue in (self._commands, self._host_work):
            for execution in [entry for entry in queue if entry.client == client]:
                execution.cancelled = True
                queue.remove(execution)
        run = self._run
        if run is not None and run.execution.client == client:
            run.execution.cancelled = True
            if run.trouble.hang:
                # The driver aborts the command of a dead process; the CU comes back unless it is wedged.
                self._end_run(run, self._now())

    def fail_all(self) -> None:
        """The compute unit is gone: every command fails now."""
        run = self._run
        if run is not None:
            now_ns = self._now()
            self._rest_hardware(run, now_ns)
            self._log_run(run, now_ns)
            self._run = None
            run.execution.on_end(run.execution, "failed")
        while self._commands:
            waiting = self._commands.popleft()
            waiting.on_end(waiting, "failed")

    def log_unfinished(self) -> None:
        """Write down what is still under way, as far as it has got."""
        now_ns = self._now()
        for core, started_ns in self._parts.cpu.occupied():
            self._log.add("core", core, started_ns, now_ns)
        if self._run is not None:
            self._rest_hardware(self._run, now_ns)
            self._log_run(self._run, now_ns)

    def _log_run(self, run: _Run, end_ns: int) -> None:
        execution = run.execution
        where = (execution.client, execution.plan_id, execution.index)
        self._log.add("run", *where, run.started_ns, end_ns, run.active_ns)

    def _advance(self, execution: Execution) -> None:
        execution.index += 1
        if execution.index == len(execution.plan.segments) or execution.cancelled:
            if not execution.cancelled:
                execution.on_end(execution, "done")
            return
        if execution.plan.segments[execution.index].kind == "dpu":
            self._commands.append(execution)
            self._dispatch(execution.cursor_ns)
        else:
            self._host_work.append(execution)
            self._occupy(execution.cursor_ns)

    # Host work

    def _occupy(self, free_ns: int) -> None:
        while self._host_work and self._free_cores:
            execution = self._host_work.popleft()
            core = execution.core if execution.core in self._free_cores else min(self._free_cores)
            self._free_cores.remove(core)
            execution.core = core
            execution.cursor_ns = max(execution.cursor_ns, free_ns)
            now_ns = self._now()
            self._parts.cpu.occupy(core, now_ns)
            self._draw(now_ns, self._constants.core_watts)
            due_ns = execution.cursor_ns + execution.durations_ns[execution.index]
            self._timers.at(due_ns, partial(self._release, execution))

    def _release(self, execution: Execution, due_ns: int) -> None:
        now_ns = self._now()
        started_ns = self._parts.cpu.release(execution.core, now_ns)
        self._draw(now_ns, -self._constants.core_watts)
        self._log.add("core", execution.core, started_ns, now_ns)
        self._free_cores.add(execution.core)
        execution.cursor_ns = due_ns
        self._advance(execution)
        self._occupy(due_ns)

    # Commands

    def _dispatch(self, free_ns: int) -> None:
        if self._run is not None or not self._commands:
            return
        execution = self._commands.popleft()
        if self.trouble.wedge or not self._parts.cu.loaded:
            execution.on_end(execution, "failed")
            self._dispatch(free_ns)
            return
        execution.cursor_ns = max(execution.cursor_ns, free_ns)
        segment = execution.plan.segments[execution.index]
        duration_ns = execution.durations_ns[execution.index]
        due_ns = execution.cursor_ns + duration_ns
        now_ns = self._parts.cu.start()
        watts = self._constants.dpu_watts if segment.watts is None else segment.watts
        trouble = Trouble(self.trouble.lose_interrupt, self.trouble.hang)
        run = self._run = _Run(execution, now_ns, watts, trouble=trouble)
        self.trouble.lose_interrupt = self.trouble.hang = False
        if run.trouble.hang:
            execution.on_end(execution, "hung")
            return
        run.active = True
        self._draw(now_ns, watts)
        self._move(run, due_ns - now_ns, segment)
        self._timers.at(due_ns, partial(self._complete, run))

    def _complete(self, run: _Run, due_ns: int) -> None:
        """The hardware is done; the status follows when the interrupt has been seen."""
        if self._run is not run:
            return
        if run.trouble.lose_interrupt:
            run.trouble.lose_interrupt = False
            self._rest_hardware(run, self._now())
            noticed_ns = run.started_ns + LOST_INTERRUPT_NS
            self._timers.at(noticed_ns, partial(self._complete, run))
            return
        self._end_run(run, due_ns)

    def _end_run(self, run: _Run, due_ns: int) -> None:
        execution = run.execution
        now_ns = self._parts.cu.finish()
        self._rest_hardware(run, now_ns)
        self._run = None
        self._log_run(run, now_ns)
        # The driver thread records the resting state a little later, before it sleeps.
        self._timers.at(now_ns + 300_000 + execution.number * 7_919 % 700_000, lambda _: self._rest())
        execution.cursor_ns = due_ns
        self._dispatch(due_ns)
        self._advance(execution)

    def _rest(self) -> None:
        if self._run is None and self._parts.cu.rest():
            self._timers.at(self._now() + 300_000, lambda _: self._rest())

    def _rest_hardware(self, run: _Run, now_ns: int) -> None:
        if run.active:
            run.active = False
            run.active_ns = now_ns - run.started_ns
            self._draw(now_ns, -run.watts)
            if self._parts.apm is not None:
                self._parts.apm.finish(now_ns)

    def _draw(self, now_ns: int, delta_watts: float) -> None:
        self._parts.rail.change(now_ns, delta_watts)

    def _move(self, run: _Run, duration_ns: int, segment: Segment) -> None:
        apm = self._parts.apm
        if apm is None:
            return
        apm.start(run.started_ns, duration_ns, segment.moved_bytes)
        if duration_ns > PUBLISH_NS:
            self._timers.at(run.started_ns + PUBLISH_NS, partial(self._publish_during, run))

    def _publish_during(self, run: _Run, due_ns: int) -> None:
        if self._run is run and self._parts.apm is not None:
            self._parts.apm.publish(self._now())
            self._timers.at(due_ns + PUBLISH_NS, partial(self._publish_during, run))
