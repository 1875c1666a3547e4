"""Time as an argument: the one module that reads the system's clocks."""

from __future__ import annotations

from time import monotonic_ns, sleep, time_ns
from typing import Protocol


class Clock(Protocol):
    """CLOCK_MONOTONIC in integer nanoseconds, and waiting on it."""

    def now_ns(self) -> int:
        """The present instant."""
        ...

    def sleep_until_ns(self, due_ns: int) -> None:
        """Return at or after `due_ns`; at once if it has passed."""
        ...


class SystemClock:
    """The board's own CLOCK_MONOTONIC."""

    now_ns = staticmethod(monotonic_ns)

    @staticmethod
    def sleep_until_ns(due_ns: int) -> None:
        """Sleep to an absolute instant, so that an early or late wake-up never accumulates."""
        delay_ns = due_ns - monotonic_ns()
        if delay_ns > 0:
            sleep(delay_ns * 1e-9)


def wall_time_ns() -> int:
    """CLOCK_REALTIME, for labels only: it may step, so no duration is ever computed from it."""
    return time_ns()
