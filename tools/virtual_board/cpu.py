"""The processor as /proc/stat shows it: what models occupy, a constant background, and what observers are charged."""

from __future__ import annotations

import random
from pathlib import Path

from virtual_board.constants import Constants
from virtual_board.linefile import LineFile

TAIL = "intr 0\nctxt 1000000\nbtime {btime}\nprocesses 1000\nprocs_running 1\nprocs_blocked 0\n"


class Core:
    """One core's accounts, nanoseconds."""

    def __init__(self, generator: random.Random) -> None:
        self.occupied_since_ns: int | None = None
        self.workload_ns = 0
        self.idle_ns = 0
        """Without workload; background and charges lie in it."""
        self.background_ns = 0.0
        self.charged_ns = 0
        self.elapsed_ns = 0
        self.start_ticks = tuple(generator.randrange(10_000_000, 20_000_000) for _ in range(3))
        """User, system and idle: large, so that the number of digits never changes."""


class Processor:
    """Four cores and their /proc/stat."""

    def __init__(self, root: Path, constants: Constants, generator: random.Random, now_ns: int, btime: int) -> None:
        self.cores = [Core(generator) for _ in range(constants.core_count)]
        self.btime = btime
        self._constants = constants
        self._tick_ns = 1_000_000_000 // constants.tick_hz
        self._since_ns = now_ns
        self._pending_ns = 0
        self._file = LineFile(root / "proc/stat", self._content())

    def occupy(self, core: int, now_ns: int) -> None:
        """A segment starts on a free core."""
        self.cores[core].occupied_since_ns = now_ns

    def release(self, core: int, now_ns: int) -> int:
        """It ends; returns when it had started."""
        account = self.cores[core]
        started_ns = account.occupied_since_ns
        if started_ns is None:
            raise RuntimeError(f"core {core} was not occupied")
        # Up to `_since_ns` it has been accounted by `publish`.
        account.workload_ns += now_ns - max(started_ns, self._since_ns)
        account.occupied_since_ns = None
        return started_ns

    def occupied(self) -> list[tuple[int, int]]:
        """(core, since_ns) of segments under way."""
        starts = ((index, account.occupied_since_ns) for index, account in enumerate(self.cores))
        return [(index, since_ns) for index, since_ns in starts if since_ns is not None]

    def charge(self, cpu_ns: int) -> None:
        """CPU time of observers, to be shown on cores that have room."""
        self._pending_ns += cpu_ns

    def publish(self, now_ns: int) -> list[tuple[int, int, int, int]]:
        """Account up to now and show it; returns the charges made: (core, from_ns, to_ns, cpu_ns)."""
        from_ns, charges = self._since_ns, []
        for index in reversed(range(len(self.cores))):
            charged_ns = self._account(self.cores[index], now_ns)
            if charged_ns:
                charges.append((index, from_ns, now_ns, charged_ns))
        self._since_ns = now_ns
        self._file.write(self._content())
        return charges

    def _account(self, account: Core, now_ns: int) -> int:
        if account.occupied_since_ns is not None:
            account.workload_ns += now_ns - max(account.occupied_since_ns, self._since_ns)
        account.elapsed_ns += now_ns - self._since_ns
        idle_ns = account.elapsed_ns - account.workload_ns - account.idle_ns
        background_ns = self._constants.background_share * idle_ns
        charged_ns = max(0, min(self._pending_ns, int(idle_ns - background_ns)))
        account.idle_ns += idle_ns
        account.background_ns += background_ns
        account.charged_ns += charged_ns
        self._pending_ns -= charged_ns
        return charged_ns

    def _content(self) -> bytes:
        rows = [self._row(account) for account in self.cores]
        total = [sum(column) for column in zip(*rows, strict=True)]
        lines = [f"cpu  {_columns(total)}", *(f"cpu{index} {_columns(row)}" for index, row in enumerate(rows))]
        return ("\n".join(lines) + "\n" + TAIL.format(btime=self.btime)).encode()

    def _row(self, account: Core) -> tuple[int, int, int]:
        user_ns = account.workload_ns
        system_ns = account.background_ns + account.charged_ns
        times_ns = (user_ns, system_ns, account.elapsed_ns - user_ns - system_ns)
        user, system, idle = (
            start + int(time_ns // self._tick_ns) for start, time_ns in zip(account.start_ticks, times_ns, strict=True)
        )
        return user, system, idle


def _columns(ticks: list[int] | tuple[int, int, int]) -> str:
    user, system, idle = ticks
    return f"{user} 0 {system} {idle} 0 0 0 0 0 0"
