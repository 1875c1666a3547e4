"""Makes faults happen at their process and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from virtual_board import clock, faulty_files
from virtual_board.engine import Engine, Parts
from virtual_board.eventlog import EventLog
from virtual_board.faults import Fault
from virtual_board.server import Client, Server
from virtual_board.timers import Timers

LASTS_NS = 2_000_000_000
WALL_STEP_SECONDS = 86_400
BEFORE_WRAP_BYTES = 20_000_000
TOLD = frozenset({"missing-100-marker", "test-failed", "bit-flip"})
"""Faults that the process itself has to act out."""


class Injector:
    """Watches workload processes come and go, and disturbs the parts."""

    def __init__(
        self,
        faults: Sequence[Fault],
        parts: Parts,
        engine: Engine,
        server: Server,
        timers: Timers,
        log: EventLog,
        control: faulty_files.Control,
    ) -> None:
        self._faults = list(faults)
        self._parts, self._engine, self._server = parts, engine, server
        self._timers, self._log, self._control = timers, log, control
        self._until_leave: dict[int, list[tuple[str, Callable[[], None]]]] = {}
        self._begin: dict[str, Callable[[str, int], None]] = {
            "sensor-vanishes": self._vanish,
            "ebusy-storm": self._busy,
            "stuck-value": self._stick,
            "lost-interrupt": self._lose_interrupt,
            "firmware-reload": self._reload,
            "hwmon-renumbered": self._renumber,
            "dpu-timeout": self._hang,
            "wedged-cu": self._wedge,
            "wall-clock-step": self._step,
        }
        for fault in self._faults:
            if fault.name == "counter-wrap" and parts.apm is not None:
                parts.apm.preset(-BEFORE_WRAP_BYTES)
                self._note(fault.name, "begin")

    def told(self, client: Client) -> list[str]:
        """Faults that the process itself has to act out."""
        mine = (fault.name for fault in self._faults if fault.process == client.ordinal)
        return [name for name in mine if name in TOLD]

    def first_run(self, client: Client) -> None:
        """A connection executes for the first time: start the clocks of its process's faults, once."""
        for fault in [entry for entry in self._faults if entry.process == client.ordinal and entry.name in self._begin]:
            self._faults.remove(fault)
            due_ns = clock.now_ns() + round(fault.after_seconds * 1e9)
            self._timers.at(due_ns, partial(self._start, fault.name, client.pid))

    def leave(self, client: Client) -> None:
        """The last connection of a process is gone."""
        for name, end in self._until_leave.pop(client.pid, []):
            end()
            self._note(name, "end")

    def _start(self, name: str, pid: int, _due_ns: int) -> None:
        self._note(name, "begin")
        self._begin[name](name, pid)

    def _note(self, name: str, edge: str) -> None:
        self._log.add("fault", name, clock.now_ns(), edge)

    def _after(self, name: str, delay_ns: int, end: Callable[[], None]) -> None:
        def finish(_due_ns: int) -> None:
            end()
            self._note(name, "end")

        self._timers.at(clock.now_ns() + delay_ns, finish)

    def _vanish(self, name: str, _pid: int) -> None:
        power = self._parts.power
        if power is not None:
            self._control.set(faulty_files.GONE, True)
            power.vanish()

            def appear() -> None:
                power.appear()
                self._control.set(faulty_files.GONE, False)

            self._after(name, LASTS_NS, appear)

    def _busy(self, name: str, _pid: int) -> None:
        self._control.set(faulty_files.BUSY, True)
        self._after(name, LASTS_NS, lambda: self._control.set(faulty_files.BUSY, False))

    def _stick(self, name: str, pid: int) -> None:
        power = self._parts.power
        if power is not None:
            power.stuck = True
            self._when_gone(name, pid, lambda: setattr(power, "stuck", False))

    def _lose_interrupt(self, _name: str, _pid: int) -> None:
        self._engine.trouble.lose_interrupt = True

    def _reload(self, name: str, _pid: int) -> None:
        self._engine.fail_all()
        self._parts.cu.unload()
        self._after(name, LASTS_NS, self._parts.cu.load)

    def _renumber(self, _name: str, _pid: int) -> None:
        if self._parts.power is not None:
            self._parts.power.renumber()

    def _hang(self, _name: str, _pid: int) -> None:
        self._engine.trouble.hang = True

    def _wedge(self, name: str, pid: int) -> None:
        self._engine.trouble.hang = True

        def crash() -> None:
            self._engine.trouble.wedge = True
            self._parts.cu.crash()

        self._when_gone(name, pid, crash)

    def _step(self, _name: str, _pid: int) -> None:
        self._server.wall_step_ns += WALL_STEP_SECONDS * 10**9
        self._parts.cpu.btime += WALL_STEP_SECONDS

    def _when_gone(self, name: str, pid: int, end: Callable[[], None]) -> None:
        self._until_leave.setdefault(pid, []).append((name, end))
