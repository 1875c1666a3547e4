"""Sensors whose values are functions of a clock that only moves when told: a board for simulated days."""

from __future__ import annotations

import errno
import heapq
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from telemetry.boards import BoardProfile, StreamPlan
from telemetry.files import SystemFiles
from telemetry.readers.apm import CONTROL, GLOBAL_CLOCK_LOW, LIVE_COUNTER, LIVE_COUNTER_STRIDE

from .static_tree import POWER, STAT, STATE, state_line

BEGIN_NS = 1_000_000_000_000
SECOND = 1_000_000_000
WRAP = 2**32

IDLE_WATTS, BUSY_WATTS = 5.0, 9.0
BUSY_OF_NS = (6 * SECOND, 10 * SECOND)
"""Six seconds of every ten are busy."""
CLOCK_HERTZ = 266_000_000
BYTES_PER_SECOND = 1_500_000_000
"""One counter's, so that it wraps every three seconds."""
CPU_SHARE = 0.25
CORES = 4
TICKS_PER_SECOND = 100

BOARD = BoardProfile(
    name="day",
    title="A board for simulated days",
    streams=(
        # Slower than a real board's, for a day in a minute; the memory monitor as fast as its counters demand.
        StreamPlan("xrt-cu", 20, jitter=True),
        StreamPlan(
            "hwmon-power",
            100,
            options={
                "rails": [
                    {
                        "name": "som", "chips": [{"prefix": "ina260"}], "covers": "all", "boundary": "SOM 5 V rail",
                        "gain_u": 0.0015, "watts_min": 0.5, "watts_max": 30,
                    }
                ]
            },
        ),
        StreamPlan("apm", 200, options={"address": "0xfd0b0000"}),
        StreamPlan("proc-stat", 1000),
        StreamPlan("self-cost", 1000),
    ),
)  # fmt: skip


class DayClock:
    """Time passes only by sleeping; what is due on the way happens at its instant."""

    def __init__(self) -> None:
        self._now_ns = BEGIN_NS
        self._due: list[tuple[int, int, Callable[[], None]]] = []

    def now_ns(self) -> int:
        """The present instant."""
        return self._now_ns

    def sleep_until_ns(self, due_ns: int) -> None:
        """Let time pass."""
        while self._due and self._due[0][0] <= due_ns:
            at_ns, _, event = heapq.heappop(self._due)
            self._now_ns = max(at_ns, self._now_ns)
            event()
        self._now_ns = max(due_ns, self._now_ns)

    def at(self, after_ns: int, event: Callable[[], None]) -> None:
        """Let something happen so long after the beginning."""
        heapq.heappush(self._due, (BEGIN_NS + after_ns, len(self._due), event))

    def every(self, period_ns: int, event: Callable[[], None]) -> None:
        """Let something happen again and again."""

        def happen() -> None:
            event()
            heapq.heappush(self._due, (self._now_ns + period_ns, -1, happen))

        heapq.heappush(self._due, (self._now_ns + period_ns, -1, happen))


@dataclass(frozen=True)
class DayTruth:
    """Totals since the beginning, as far as there was a sensor to see them."""

    joules: float
    busy_seconds: float
    bytes: float
    cpu_seconds: float


class DayFile:
    """A file kept open, or what is left of it."""

    def __init__(self, path: Path, board: DayBoard) -> None:
        self._path, self._board = path, board

    def read(self, size: int = 4096) -> bytes:
        """Up to `size` bytes of the present content."""
        return self._board.content(self._path)[:size]

    def close(self) -> None:
        """Nothing to give back."""


class DayRegisters:
    """The memory monitor's page."""

    def __init__(self, board: DayBoard) -> None:
        self._board = board
        self._written: dict[int, int] = {}

    def read32(self, offset: int) -> int:
        """A counter as it stands, or what was written."""
        if offset == GLOBAL_CLOCK_LOW:
            return self._board.monitor_ns() * CLOCK_HERTZ // SECOND % WRAP
        if offset == LIVE_COUNTER:
            return self._board.monitor_ns() * BYTES_PER_SECOND // SECOND % WRAP
        if LIVE_COUNTER < offset < LIVE_COUNTER + 10 * LIVE_COUNTER_STRIDE:
            return 0
        if offset == CONTROL and self._board.monitor_is_off:
            return 0
        return self._written.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Store; programming the control register starts the monitor from 0."""
        self._written[offset] = value
        if offset == CONTROL:
            self._board.start_monitor()

    def close(self) -> None:
        """Nothing to give back."""


class DayBoard(SystemFiles):
    """File access over a real folder, in which the sensors' content follows the clock."""

    def __init__(self, root: Path, clock: DayClock) -> None:
        self.clock = clock
        self.wall_offset_ns = 1_700_000_000 * SECOND
        self.disk_is_full = False
        self.monitor_is_off = False
        self.power_gone_ns = 0
        self._root = root
        self._power = (root / POWER).parent
        self._gone_since_ns: int | None = None
        self._gone_joules = 0.0
        self._monitor_since_ns = clock.now_ns()

    # What happens to it

    def remove_power(self) -> None:
        """The chip leaves the tree, and whoever has its file open is told."""
        self._power.rename(self._root / "aside")
        self._gone_since_ns = self.clock.now_ns()

    def return_power(self) -> None:
        """It is back."""
        (self._root / "aside").rename(self._power)
        assert self._gone_since_ns is not None
        self.power_gone_ns += self.clock.now_ns() - self._gone_since_ns
        self._gone_joules += self._joules(self.clock.now_ns()) - self._joules(self._gone_since_ns)
        self._gone_since_ns = None

    def renumber_power(self) -> None:
        """It comes back as another hwmonN, and another chip has its old number."""
        old = self._power
        self._power = old.with_name("hwmon9")
        old.rename(self._power)
        old.mkdir()
        (old / "name").write_text("nvme\n", encoding="ascii")

    def step_wall_clock(self) -> None:
        """Somebody sets it ahead by a day."""
        self.wall_offset_ns += 86_400 * SECOND

    def reset_monitor(self) -> None:
        """Somebody stops it; its reader starts it anew."""
        self.monitor_is_off = True

    def start_monitor(self) -> None:
        """Its counters begin at 0."""
        self.monitor_is_off = False
        self._monitor_since_ns = self.clock.now_ns()

    # What it shows

    def open(self, path: Path) -> DayFile:  # type: ignore[override]
        """A file of this board."""
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return DayFile(path, self)

    def map_registers(self, path: Path, length: int) -> DayRegisters:  # type: ignore[override]  # noqa: ARG002
        """The memory monitor."""
        return DayRegisters(self)

    def content(self, path: Path) -> bytes:
        """What a file says now."""
        passed_ns = self.clock.now_ns() - BEGIN_NS
        if path.name == POWER.name:
            if path.parent != self._power or self._gone_since_ns is not None:
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), str(path))
            return b"%d\n" % round((BUSY_WATTS if self._is_busy(passed_ns) else IDLE_WATTS) * 1e6)
        if path == self._root / STATE:
            return state_line(self._is_busy(passed_ns), passed_ns // BUSY_OF_NS[1])
        if path == self._root / STAT:
            return self._stat(passed_ns)
        return path.read_bytes()

    def monitor_ns(self) -> int:
        """How long the memory monitor has been counting."""
        return self.clock.now_ns() - self._monitor_since_ns

    def truth(self) -> DayTruth:
        """What there was to be seen since the beginning."""
        now_ns = self.clock.now_ns()
        passed = (now_ns - BEGIN_NS) / SECOND
        return DayTruth(
            self._joules(now_ns) - self._gone_joules,
            passed * BUSY_OF_NS[0] / BUSY_OF_NS[1],
            passed * BYTES_PER_SECOND,
            passed * CPU_SHARE,
        )

    @staticmethod
    def _is_busy(passed_ns: int) -> bool:
        return passed_ns % BUSY_OF_NS[1] < BUSY_OF_NS[0]

    @staticmethod
    def _joules(now_ns: int) -> float:
        """Since the beginning, to the nearest ten seconds or better."""
        share = BUSY_OF_NS[0] / BUSY_OF_NS[1]
        return (now_ns - BEGIN_NS) / SECOND * (share * BUSY_WATTS + (1 - share) * IDLE_WATTS)

    @staticmethod
    def _stat(passed_ns: int) -> bytes:
        total = passed_ns * TICKS_PER_SECOND // SECOND
        busy = int(total * CPU_SHARE)
        line = b" %d 0 0 %d 0 0 0 0 0 0\n" % (busy, total - busy)
        return b"cpu" + line + b"".join(b"cpu%d" % core + line for core in range(CORES))
