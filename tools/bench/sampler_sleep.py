"""Waiting for a deadline: the clock's own sleep against clock_nanosleep through ctypes, in CPU time and lateness.

    python -m tools.bench.sampler_sleep [--repeats 16]

A bare 1 kHz loop at random instants of its slots, one second a time, the two in turn; see docs/decisions/0001.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import random
import statistics
import sys
from collections.abc import Callable
from resource import RUSAGE_SELF, getrusage

import numpy as np

from telemetry.clock import SystemClock
from telemetry.realtime import apply_realtime

PERIOD_NS = 1_000_000
SECOND_NS = 1_000_000_000
CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1


class Timespec(ctypes.Structure):
    """struct timespec of 64-bit Linux."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def by_ctypes() -> Callable[[int], None]:
    """Sleep until an instant by the C library's clock_nanosleep."""
    function = ctypes.CDLL(None).clock_nanosleep
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    due = Timespec()
    address = ctypes.byref(due)

    def sleep_until_ns(due_ns: int) -> None:
        due.seconds, due.nanoseconds = divmod(due_ns, SECOND_NS)
        function(CLOCK_MONOTONIC, TIMER_ABSTIME, address, None)

    return sleep_until_ns


def measure(sleep_until_ns: Callable[[int], None]) -> tuple[float, list[int]]:
    """CPU time in ms of a second of ticks, and the lateness of each in ns."""
    now_ns = SystemClock.now_ns
    start_ns = slot_ns = now_ns()
    late_ns = []
    before = getrusage(RUSAGE_SELF)
    while slot_ns < start_ns + SECOND_NS:
        due_ns = slot_ns + int(random.random() * PERIOD_NS)
        sleep_until_ns(due_ns)
        late_ns.append(now_ns() - due_ns)
        slot_ns += PERIOD_NS
    after = getrusage(RUSAGE_SELF)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3, late_ns


def main() -> None:
    """Print both, with the version of Python, on which it depends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=16)
    repeats = parser.parse_args().repeats
    gc.disable()
    print(f"Python {sys.version.split()[0]}, {apply_realtime(True)}, {repeats} x 1 s")
    ways = {"time.sleep": SystemClock.sleep_until_ns, "ctypes": by_ctypes()}
    results: dict[str, list[tuple[float, list[int]]]] = {way: [] for way in ways}
    for _ in range(repeats):
        for way, sleep_until_ns in ways.items():
            results[way].append(measure(sleep_until_ns))
    for way, runs in results.items():
        p50, p99 = np.percentile(np.concatenate([late for _, late in runs]), [50, 99]) / 1e3
        cpu = statistics.median(cpu for cpu, _ in runs)
        print(f"{way:<11} {cpu:5.1f} ms CPU per s, late {p50:5.1f} us (p50), {p99:6.1f} us (p99)")


if __name__ == "__main__":
    main()
