"""The clocks of the host: the emulation plays in real time, on the CLOCK_MONOTONIC that every process shares."""

from __future__ import annotations

import time
from collections.abc import Callable

Now = Callable[[], int]
"""How a part learns the present instant; tests pass their own."""

now_ns = time.monotonic_ns
wall_ns = time.time_ns

_CPUCLOCK_SCHED = 2


def sleep_until_ns(due_ns: int) -> None:
    """Return at or after an absolute instant."""
    delay_ns = due_ns - time.monotonic_ns()
    if delay_ns > 0:
        time.sleep(delay_ns * 1e-9)


def local_time(wall_ns: int) -> time.struct_time:
    """Broken-down local time, as glog prints it."""
    return time.localtime(wall_ns // 1_000_000_000)


def process_cpu_ns(pid: int) -> int:
    """CPU time of all threads of a process so far, user and system (clock_getcpuclockid(3)); OSError if it is gone."""
    return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED)
