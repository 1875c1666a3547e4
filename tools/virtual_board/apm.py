"""The DDR's AXI performance monitor behind UIO: a register page that other processes map and program (board facts, 2).

A regular file cannot notice an access. So control and selectors are polled each time the counters are published, a
reset that is set and cleared between two polls is missed, and reading SR (0x2C) latches nothing: read live counters.
"""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Mapping
from pathlib import Path

from virtual_board.constants import Constants
from virtual_board.linefile import write_file

PAGE_BYTES = 0x10000
GCC_HIGH, GCC_LOW, CTL, MSR, MC, COUNTERS = 0x000, 0x004, 0x300, (0x044, 0x048, 0x04C), 0x100, 10
METRIC_ENABLE, METRIC_RESET, GCC_ENABLE, GCC_RESET = 0x1, 0x2, 0x1_0000, 0x2_0000
METRICS = {2: "write", 3: "read"}
"""Metric code to direction; other metrics stand still."""
MODULUS = 1 << 32

MONITORS = (
    (0xFFA0_0000, "perf-monitor@ffa00000"),
    (0xFD0B_0000, "perf-monitor@fd0b0000"),
    (0xFD49_0000, "perf-monitor@fd490000"),
    (0xFFA1_0000, "perf-monitor@ffa10000"),
)
"""uio0 to uio3: OCM, DDR, CCI, LPD; only the DDR's counts here."""
DDR = 1


class Monitor:
    """Counters of the DDR monitor. Traffic of a run flows evenly over its duration."""

    def __init__(self, root: Path, constants: Constants, generator: random.Random, now_ns: int) -> None:
        self._constants = constants
        self._created_ns = now_ns
        self._since_ns = now_ns
        self._totals: dict[str, int] = {}
        """Bytes of finished runs by column."""
        self._published: dict[str, int] = {}
        self._counts = [generator.randrange(MODULUS) for _ in range(COUNTERS)]
        self._clock = 0.0
        self._run: tuple[int, int, Mapping[str, int]] | None = None
        self._page = _add_devices(root)
        self._words = memoryview(self._page).cast("I")
        self._show()

    def start(self, now_ns: int, duration_ns: int, moved_bytes: Mapping[str, int]) -> None:
        """A run begins to move its bytes."""
        self._run = (now_ns, max(duration_ns, 1), moved_bytes)

    def finish(self, now_ns: int) -> None:
        """It has moved them all."""
        if self._run is not None:
            for column, size_bytes in self._run[2].items():
                self._totals[column] = self._totals.get(column, 0) + size_bytes
            self._run = None
        self.publish(now_ns)

    def preset(self, value: int) -> None:
        """Give every counter the same value, at once."""
        self._counts = [value % MODULUS] * COUNTERS
        self._show()

    def publish(self, now_ns: int) -> None:
        """Bring the register page up to date, as control and selectors now stand in it."""
        words = self._words
        control = words[CTL >> 2]
        moved = {column: self._moved(column, now_ns) for column in self._columns()}
        for index in range(COUNTERS):
            selector = words[MSR[index // 4] >> 2] >> 8 * (index % 4) & 0xFF
            direction = METRICS.get(selector & 0x1F)
            if control & METRIC_RESET:
                self._counts[index] = 0
            elif control & METRIC_ENABLE and direction is not None:
                column = f"{direction}.slot{selector >> 5}"
                self._counts[index] += moved.get(column, 0) - self._published.get(column, 0)
        if control & GCC_RESET:
            self._clock = 0.0
        elif control & GCC_ENABLE:
            self._clock += (now_ns - self._since_ns) * 1e-9 * self._constants.apm_hz
        self._published, self._since_ns = moved, now_ns
        self._show()

    def close(self) -> None:
        """Release the page."""
        self._words.release()
        self._page.close()

    def _columns(self) -> set[str]:
        running = self._run[2] if self._run else {}
        return {*self._totals, *running, *self._constants.background_bytes_per_second}

    def _moved(self, column: str, now_ns: int) -> int:
        background = self._constants.background_bytes_per_second.get(column, 0) * (now_ns - self._created_ns) // 10**9
        moved = self._totals.get(column, 0) + background
        if self._run is not None:
            started_ns, duration_ns, run_bytes = self._run
            moved += run_bytes.get(column, 0) * min(now_ns - started_ns, duration_ns) // duration_ns
        return moved

    def _show(self) -> None:
        for index in range(COUNTERS):
            self._words[MC + 0x10 * index >> 2] = self._counts[index] % MODULUS
        self._words[GCC_LOW >> 2] = int(self._clock) % MODULUS
        self._words[GCC_HIGH >> 2] = int(self._clock) // MODULUS % MODULUS


def _add_devices(root: Path) -> mmap.mmap:
    (root / "dev").mkdir(exist_ok=True)
    for number, (address, _name) in enumerate(MONITORS):
        folder = root / f"sys/class/uio/uio{number}"
        write_file(folder / "name", "axi-pmon\n")
        write_file(folder / "maps/map0/addr", f"0x{address:016x}\n")
        write_file(folder / "maps/map0/size", f"0x{PAGE_BYTES:016x}\n")
        write_file(folder / "maps/map1/name", "params\n")
        write_file(folder / "device/of_node/name", "perf-monitor\0")
        write_file(root / f"dev/uio{number}", bytes(PAGE_BYTES if number == DDR else 4096))
    descriptor = os.open(root / f"dev/uio{DDR}", os.O_RDWR)
    try:
        return mmap.mmap(descriptor, PAGE_BYTES)
    finally:
        os.close(descriptor)
