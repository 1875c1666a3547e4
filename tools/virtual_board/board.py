"""The board as a whole: its parts on one timeline, and the timers that keep sensors, log and faults going."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from virtual_board import clock
from virtual_board.apm import Monitor
from virtual_board.constants import Constants
from virtual_board.cpu import Processor
from virtual_board.cu import ComputeUnit
from virtual_board.engine import Engine, Parts
from virtual_board.eventlog import FLUSH_NS, EventLog
from virtual_board.faults import Fault
from virtual_board.faulty_files import Control
from virtual_board.injector import Injector
from virtual_board.observers import Observers
from virtual_board.power import PowerSensor
from virtual_board.server import Client, Server
from virtual_board.state import Level
from virtual_board.thermal import Thermometers
from virtual_board.timers import Timers
from virtual_board.tree import add_fixed_tree

UPTIME_SECONDS = 100_000
"""How long the board says it has been up."""
CONVERSIONS_PER_TEMPERATURE = 57
"""Half a second."""
OBSERVE_NS = 100_000_000
"""How often the CPU time of observers is collected."""


@dataclass(frozen=True)
class Settings:
    """What the process is told."""

    folder: str
    """Holds `root` (the tree) and `socket`; removed at the end."""
    seed: int
    constants: dict[str, Any]
    timing: dict[str, Any]
    """Contents of the timing file, by model file name."""
    fingerprint: int
    """Of the loaded DPU."""
    faults: list[dict[str, Any]]
    log: str | None
    apm: bool
    power: bool
    charged: bool
    parent: int


class Board:
    """Everything emulated, and the timers that keep it going."""

    def __init__(self, settings: Settings) -> None:
        now_ns = clock.now_ns()
        folder = Path(settings.folder)
        self.settings = settings
        self.constants = Constants.from_json(settings.constants)
        self.timers = Timers()
        self.parts = self._make_parts(folder / "root", now_ns)
        self.log = EventLog(Path(settings.log) if settings.log else None, self._header(now_ns))
        self.engine = Engine(self.parts, self.constants, self.timers, self.log, clock.now_ns)
        jitter = self._generator("jitter")
        self.server = Server(folder / "socket", self.engine, self.constants, self.timers, self.log, jitter)
        faults = [Fault(**fault) for fault in settings.faults]
        control = Control(folder)
        self.injector = Injector(faults, self.parts, self.engine, self.server, self.timers, self.log, control)
        self.server.welcome = self._welcome
        self.server.on_first_run, self.server.on_leave = self.injector.first_run, self.injector.leave
        mark = str(folder / "socket").encode()
        self._observers = Observers(settings.parent, os.getpid(), self.server.is_workload, mark)
        self._conversions = 0
        self._temperature_from = (now_ns, 0.0)
        self._start_timers(now_ns)

    def close(self) -> None:
        """End the log and let go of files."""
        self.server.close()
        self.engine.log_unfinished()
        self.log.add("end", clock.now_ns())
        self.log.close()

    def _make_parts(self, root: Path, now_ns: int) -> Parts:
        settings, constants = self.settings, self.constants
        root.mkdir()
        add_fixed_tree(root)
        self._thermometers = Thermometers(root, constants, now_ns)
        rail = Level(now_ns, constants.idle_watts)
        btime = clock.wall_ns() // 10**9 - UPTIME_SECONDS
        return Parts(
            cu=ComputeUnit(root, self._generator("cu"), clock.now_ns),
            cpu=Processor(root, constants, self._generator("cpu"), now_ns, btime),
            rail=rail,
            power=PowerSensor(root, constants, self._generator("power"), rail, now_ns) if settings.power else None,
            apm=Monitor(root, constants, self._generator("apm"), now_ns) if settings.apm else None,
        )

    def _start_timers(self, now_ns: int) -> None:
        phase_ns = self._generator("phase").randrange(self.constants.averaging_ns)
        self.timers.at(now_ns + phase_ns, self._convert)
        self.timers.at(now_ns + FLUSH_NS, self._flush)
        if self.settings.charged:
            self.timers.at(now_ns + OBSERVE_NS, self._observe)

    def _generator(self, purpose: str) -> random.Random:
        return random.Random(f"{self.settings.seed}/{purpose}")

    def _header(self, now_ns: int) -> dict[str, Any]:
        power = self.parts.power
        sensor = {"gain_error": power.gain_error, "offset_watts": power.offset_watts} if power else None
        return {
            "seed": self.settings.seed,
            "started_ns": now_ns,
            "constants": self.constants.to_json(),
            "sensor": sensor,
            "timing": self.settings.timing,
            "faults": self.settings.faults,
        }

    def _welcome(self, client: Client) -> dict[str, Any]:
        return {
            "constants": self.constants.to_json(),
            "timing": self.settings.timing,
            "fingerprint": self.settings.fingerprint,
            "status": self.parts.cu.status,
            "faults": self.injector.told(client),
            "ordinal": client.ordinal,
        }

    def _convert(self, due_ns: int) -> None:
        now_ns = clock.now_ns()
        if self.parts.power is not None:
            self.parts.power.convert(now_ns)
        if self.parts.apm is not None:
            self.parts.apm.publish(now_ns)
        self._conversions += 1
        if self._conversions % CONVERSIONS_PER_TEMPERATURE == 0:
            self._thermometers.follow(now_ns, self._mean_watts(now_ns))
        if self._conversions % 2 == 0:
            for charge in self.parts.cpu.publish(now_ns):
                self.log.add("charge", *charge)
            self.parts.cu.clients = len(self.server.clients)
            self.parts.cu.refresh()
        next_ns = due_ns + self.constants.averaging_ns
        if next_ns < now_ns:  # The host stood still: skip what is past, as the converter would have overwritten it.
            next_ns += (now_ns - next_ns) // self.constants.averaging_ns * self.constants.averaging_ns
        self.timers.at(next_ns, self._convert)

    def _mean_watts(self, now_ns: int) -> float:
        """Of the rail since the last call."""
        joules = self.parts.rail.integral(now_ns)
        since_ns, before = self._temperature_from
        self._temperature_from = (now_ns, joules)
        return (joules - before) / max(now_ns - since_ns, 1) * 1e9

    def _observe(self, due_ns: int) -> None:
        self.parts.cpu.charge(self._observers.spent_ns())
        self.timers.at(max(due_ns + OBSERVE_NS, clock.now_ns()), self._observe)

    def _flush(self, due_ns: int) -> None:
        self.log.flush()
        self.timers.at(due_ns + FLUSH_NS, self._flush)
