"""One deadline loop over all sensors, loops by speed, or a thread for each: lateness and CPU time of the three.

    python -m tools.bench.sampler_layout [--seconds 3] [--repeats 5]

The compute unit is read at 1 kHz at random instants, power at 100 Hz, the memory monitor at 10 Hz, the CPUs at 1 Hz.
Power answers at once or blocks for a millisecond, as a sensor on I2C does. docs/decisions/0001 draws the conclusion.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from resource import RUSAGE_SELF, getrusage

import numpy as np

from telemetry.clock import SystemClock
from telemetry.model import Column
from telemetry.realtime import apply_realtime
from telemetry.recorder import SWITCH_SECONDS
from telemetry.sampling import Sampler, Track

from .load import all_cores_busy

MS = 1_000_000
PERIODS_MS = {"cu": 1, "power": 10, "apm": 100, "cpu": 1000}
LAYOUTS = {
    "one loop": (("cu", "power", "apm", "cpu"),),
    "fast and slow": (("cu",), ("power", "apm", "cpu")),
    "a thread each": (("cu",), ("power",), ("apm",), ("cpu",)),
}
BLOCKING_NS = (0, MS)


class FileReader:
    """Reads a file of the kernel, and may wait first, without the interpreter, as a slow bus makes it."""

    columns: tuple[Column, ...] = (Column("length", "1", "state"),)
    attributes: Mapping[str, str] = {}

    def __init__(self, path: str, blocking_ns: int = 0) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self._blocking_ns = blocking_ns

    def read(self) -> tuple[int]:
        """How many bytes there were."""
        if self._blocking_ns:
            SystemClock.sleep_until_ns(SystemClock.now_ns() + self._blocking_ns)
        return (len(os.pread(self._descriptor, 4096, 0)),)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)


def measure(layout: str, blocking_ns: int, seconds: float) -> dict[str, object]:
    """Sample in this process: lateness of the compute unit's ticks in ns, missed slots, CPU seconds per second."""
    clock = SystemClock()
    tracks = {
        name: Track(
            name,
            FileReader("/proc/stat" if name == "cpu" else "/proc/uptime", blocking_ns if name == "power" else 0),
            period * MS,
            jitter=name == "cu",
            phase_ns=number * MS // 4,
        )
        for number, (name, period) in enumerate(PERIODS_MS.items())
    }
    apply_realtime(True)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.disable()
    samplers = [Sampler(clock, [tracks[name] for name in group], random.random) for group in LAYOUTS[layout]]
    threads = [threading.Thread(target=sampler.run) for sampler in samplers]
    before = getrusage(RUSAGE_SELF)
    for thread in threads:
        thread.start()
    clock.sleep_until_ns(clock.now_ns() + int(seconds * 1e9))
    for sampler in samplers:
        sampler.stop()
    for thread in threads:
        thread.join()
    after = getrusage(RUSAGE_SELF)
    return {
        "late_ns": [begin - due for due, begin, _, _ in tracks["cu"].rows],
        "missed": sum(gap.missed for gap in tracks["cu"].gaps),
        "cpu": (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / seconds,
    }


def compare(seconds: float, repeats: int) -> None:
    """All layouts in turn, each in a process of its own, repeated; ticks pooled, CPU time by its median."""
    print(f"{'':34}{'lateness of the 1 kHz ticks, us':^32}{'':>9}{'':>9}{'CPU':>9}")
    print(f"{'':34}{'p50':>8}{'p99':>8}{'p99.9':>8}{'max':>8}{'>1 ms %':>9}{'missed':>9}{'ms/s':>9}")
    for loaded in (False, True):
        with all_cores_busy() if loaded else nullcontext():
            for blocking_ns in BLOCKING_NS:
                runs: dict[str, list[dict[str, object]]] = {layout: [] for layout in LAYOUTS}
                for _ in range(repeats):
                    for layout, results in runs.items():
                        results.append(in_a_process(layout, blocking_ns, seconds))
                for layout, results in runs.items():
                    circumstances = f"{'loaded' if loaded else 'idle'}, power {blocking_ns // MS} ms"
                    print(f"{layout:<15}{circumstances:<19}{row(results)}", flush=True)


def in_a_process(layout: str, blocking_ns: int, seconds: float) -> dict[str, object]:
    """`measure` in a fresh process."""
    command = [sys.executable, "-m", "tools.bench.sampler_layout", "--one", layout, str(blocking_ns), str(seconds)]
    result: dict[str, object] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return result


def row(results: list[dict[str, object]]) -> str:
    """The figures of one layout, aligned."""
    late = np.concatenate([np.array(result["late_ns"]) for result in results]) / 1e3
    ticks = "".join(f"{value:8.0f}" for value in (*np.percentile(late, [50, 99, 99.9]), late.max()))
    missed = sum(int(str(result["missed"])) for result in results)
    cpu = statistics.median(float(str(result["cpu"])) for result in results)
    return f"{ticks}{np.mean(late > 1000) * 100:9.3f}{missed:9d}{cpu * 1e3:9.1f}"


def main() -> None:
    """Compare, or measure one layout and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--one", nargs=3, metavar=("LAYOUT", "BLOCKING_NS", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        layout, blocking_ns, seconds = options.one
        print(json.dumps(measure(layout, int(blocking_ns), float(seconds))))
    else:
        print(f"{options.repeats} x {options.seconds} s each on {len(os.sched_getaffinity(0))} CPUs")
        compare(options.seconds, options.repeats)


if __name__ == "__main__":
    main()
