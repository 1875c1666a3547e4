"""The board process: one event loop that plays the timeline until its standard input closes.

`python -m virtual_board.process` reads one line of JSON (`Settings`) and answers with one line when the tree is ready.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import random
import selectors
import shutil
import signal
import sys
from collections.abc import Callable
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

PRIORITY = 30
"""Above any sampler: hardware does not wait for software."""

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
        self.settings = settings
        self.constants = Constants.from_json(settings.constants)
        self.timers = Timers()
        root = Path(settings.folder) / "root"
        root.mkdir()
        add_fixed_tree(root)
        btime = clock.wall_ns() // 10**9 - 100_000
        rail = Level(now_ns, self.constants.idle_watts)
        self.parts = Parts(
            cu=ComputeUnit(root, self._generator("cu"), clock.now_ns),
            cpu=Processor(root, self.constants, self._generator("cpu"), now_ns, btime),
            rail=rail,
            power=PowerSensor(root, self.constants, self._generator("power"), rail, now_ns) if settings.power else None,
            apm=Monitor(root, self.constants, self._generator("apm"), now_ns) if settings.apm else None,
        )
        self.log = EventLog(Path(settings.log) if settings.log else None, self._header(now_ns))
        self.engine = Engine(self.parts, self.constants, self.timers, self.log, clock.now_ns)
        jitter = self._generator("jitter")
        socket_path = Path(settings.folder) / "socket"
        self.server = Server(socket_path, self.engine, self.constants, self.timers, self.log, jitter)
        self.server.welcome = self._welcome
        faults = [Fault(**fault) for fault in settings.faults]
        control = Control(Path(settings.folder))
        self.injector = Injector(faults, self.parts, self.engine, self.server, self.timers, self.log, control)
        self.server.on_first_run, self.server.on_leave = self.injector.first_run, self.injector.leave
        phase_ns = self._generator("phase").randrange(self.constants.averaging_ns)
        self.timers.at(now_ns + phase_ns, self._convert)
        self.timers.at(now_ns + FLUSH_NS, self._flush)
        if settings.charged:
            mark = str(socket_path).encode()
            self._observers = Observers(settings.parent, os.getpid(), self.server.is_workload, mark)
            self.timers.at(now_ns + OBSERVE_NS, self._observe)
        self._conversions = 0
        self._last_temperature = (now_ns, 0.0)
        self._thermometers = Thermometers(root, self.constants, now_ns)

    def close(self) -> None:
        """End the log and let go of files."""
        self.server.close()
        self.engine.log_unfinished()
        self.log.add("end", clock.now_ns())
        self.log.close()

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
        since_ns, before = self._last_temperature
        self._last_temperature = (now_ns, joules)
        return (joules - before) / max(now_ns - since_ns, 1) * 1e9

    def _observe(self, due_ns: int) -> None:
        self.parts.cpu.charge(self._observers.spent_ns())
        self.timers.at(max(due_ns + OBSERVE_NS, clock.now_ns()), self._observe)

    def _flush(self, due_ns: int) -> None:
        self.log.flush()
        self.timers.at(due_ns + FLUSH_NS, self._flush)


def take_real_time() -> str:
    """Ask for SCHED_FIFO; says what came of it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError as error:
        return f"no: SCHED_FIFO {PRIORITY} refused ({error.strerror})"
    return f"SCHED_FIFO {PRIORITY}"


def play(board: Board, stop: Callable[[], bool]) -> None:
    """Run the loop until `stop()`."""
    # select() takes its timeout in microseconds; epoll and poll round to milliseconds.
    with selectors.SelectSelector() as selector:
        board.server.register(selector)
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ, None)
        while not stop():
            due_ns = board.timers.next_due_ns()
            timeout = None if due_ns is None else max(0.0, (due_ns - clock.now_ns()) * 1e-9)
            for key, _ in selector.select(timeout):
                if key.data is None:
                    if not os.read(sys.stdin.fileno(), 4096):
                        return
                else:
                    key.data()
            board.timers.run_due(clock.now_ns())


def main() -> int:
    """Play one board."""
    settings = Settings(**json.loads(sys.stdin.readline()))
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopped.append(number))
    try:
        board = Board(settings)
        gc.collect()
        gc.freeze()
        gc.disable()  # Nothing here makes reference cycles in numbers that matter, and a collection would delay a flip.
        print(json.dumps({"ready": True, "realtime": take_real_time()}), flush=True)
        play(board, lambda: bool(stopped))
        board.close()
    finally:
        shutil.rmtree(settings.folder, ignore_errors=True)
    return 0


def settings_line(settings: Settings) -> bytes:
    """What the launcher writes to the process."""
    return json.dumps(dataclasses.asdict(settings)).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main())
