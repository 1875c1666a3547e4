"""Processes that keep a machine busy while an observer is measured: `python -m tools.bench.load KIND ROOT SECONDS`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from telemetry.clock import SystemClock

from .static_tree import STATE, state_line

DEVICE_NS = 18_000_000
"""Device time of one execution of the stand-in; with its CPU part about the paper's 20 ms."""
CPU_STEPS = 20_000
"""Fixed CPU work between two executions: a millisecond or so."""


def work(steps: int) -> int:
    """A fixed amount of CPU work."""
    total = 0
    for step in range(steps):
        total += step & 7
    return total


def device_bound(root: Path, seconds: float) -> list[int]:
    """Completion times, in ns, of a loop that prepares, starts the device and waits for it to finish.

    The device is an absolute deadline counted from its start, and shows in the compute unit's file as it would.
    """
    clock = SystemClock()
    descriptor = os.open(root / STATE, os.O_WRONLY)
    completions = [clock.now_ns()]
    while completions[-1] - completions[0] < seconds * 1e9:
        work(CPU_STEPS)
        started_ns = clock.now_ns()
        os.pwrite(descriptor, state_line(True, len(completions)), 0)
        clock.sleep_until_ns(started_ns + DEVICE_NS)
        os.pwrite(descriptor, state_line(False, len(completions)), 0)
        completions.append(clock.now_ns())
    os.close(descriptor)
    return completions


def cpu_bound(seconds: float) -> list[int]:
    """Completion times, in ns, of portions of fixed work in one process that never waits."""
    clock = SystemClock()
    completions = [clock.now_ns()]
    while completions[-1] - completions[0] < seconds * 1e9:
        work(CPU_STEPS)
        completions.append(clock.now_ns())
    return completions


def start(kind: str, root: Path, seconds: float) -> subprocess.Popen[bytes]:
    """Start a `device` or a `cpu` bound loop in a process of its own; returns when it runs."""
    command = [sys.executable, "-m", "tools.bench.load", kind, str(root), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def completions(process: subprocess.Popen[bytes]) -> list[int]:
    """What a loop that was started here did, once it has ended."""
    output, _ = process.communicate()
    times: list[int] = json.loads(output)
    return times


def rate(times_ns: list[int], begin_ns: int, end_ns: int) -> float:
    """Executions per second by the whole ones between the first and the last completion of a span."""
    inside = [t for t in times_ns if begin_ns <= t <= end_ns]
    return (len(inside) - 1) / (inside[-1] - inside[0]) * 1e9


@contextmanager
def all_cores_busy() -> Iterator[None]:
    """One endless loop per core this process may use."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    """`KIND ROOT SECONDS`: say that it runs, run, print the completions."""
    kind, root, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    print("running", flush=True)
    print(json.dumps(device_bound(root, seconds) if kind == "device" else cpu_bound(seconds)))


if __name__ == "__main__":
    main()
