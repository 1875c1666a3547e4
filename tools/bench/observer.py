"""What observing costs, against a bare C loop that makes the same reads at the same instants and keeps nothing.

    python -m tools.bench.observer [--short] [--json FILE]

Three experiments on a static tree of sensor files, each repeated, both sides alternating so that a disturbance of the
machine meets both: CPU time with a device-bound runner at work; lateness with all cores loaded; throughput of runners
with and without the observer. Prints a table; exit code 1 if a bound is exceeded.

Figures of pairs are medians. A loss of throughput is smaller than the scatter of single pairs, so it has an interval
(95 % or more, by order statistics): the bound is exceeded if it lies below all of it, and the answer is inconclusive if
the interval holds it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from operator import truediv
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

from telemetry.boards import BoardProfile, load_board
from telemetry.clock import SystemClock
from telemetry.realtime import PRIORITY
from telemetry.recording import RecorderPlan, Recording
from telemetry.session import SessionLog, SessionReader

from . import load
from .static_tree import POWER, REGISTERS, STAT, STATE, build

FILES = {
    "xrt-cu": f"{STATE}",
    "hwmon-power": f"{POWER}",
    "apm": f"{REGISTERS}:11",
    "proc-stat": f"{STAT}",
}
"""Kind of sensor to what the C loop reads for it: a file, or a page and a number of 32-bit registers."""

LATE_NS = 1_000_000
EXCEEDED = "EXCEEDED"
MOST_CPU = 2.0
MOST_LATENESS = 2.0
MOST_LOSS_PERCENT = 0.5
UNSEEN_TICKS = 3.0
"""Where the C loop shows no late tick its share is taken as the 95 % upper limit of zero seen: 3 / n (Poisson)."""

Nanoseconds = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Line:
    """One row of the table: a figure of the observer and of the C loop, what follows from them, and its bound."""

    name: str
    observer: float | None = None
    baseline: float | None = None
    value: float | None = None
    bound: float | None = None
    low: float | None = None
    high: float | None = None
    """Where `value` lies, for one that has an interval."""

    @property
    def verdict(self) -> str:
        """`exceeded`, `inconclusive` or nothing; a value that is not a number exceeds any bound."""
        if self.bound is None or self.value is None:
            return ""
        if not (self.value if self.low is None else self.low) <= self.bound:
            return EXCEEDED
        return "" if self.high is None or self.high <= self.bound else "inconclusive"


@dataclass(frozen=True)
class Repeats:
    """How often and how long; medians and pooled ticks are taken over the repeats."""

    cpu: int
    lateness: int
    throughput: int
    seconds: float


SHORT = Repeats(cpu=9, lateness=8, throughput=10, seconds=1.0)
LONG = Repeats(cpu=15, lateness=10, throughput=20, seconds=5.0)


@dataclass(frozen=True)
class Observed:
    """One recording: its span, the recorder's CPU time in it and before it, lateness of the compute unit's ticks."""

    begin_ns: int
    end_ns: int
    cpu_seconds: float
    startup_cpu_seconds: float
    late_ns: Nanoseconds
    realtime: str


def observe(root: Path, board: BoardProfile, seconds: float) -> Observed:
    """Record a tree for a while with the product's recorder."""
    path = root / "observer.kvs"
    log = SessionLog.create(path)
    recording = Recording.start(RecorderPlan(str(root), board, str(path)))
    startup = cpu_seconds(recording.ready.pid)
    recording.flush()
    begin_ns, before = now_ns(), cpu_seconds(recording.ready.pid)
    sleep(seconds)
    end_ns, after = now_ns(), cpu_seconds(recording.ready.pid)
    recording.stop()
    log.close()
    with SessionReader(path) as reader:
        late_ns = reader.series("cu", begin_ns, end_ns).late_ns
    path.unlink()
    return Observed(begin_ns, end_ns, after - before, startup, late_ns, recording.ready.realtime)


@dataclass(frozen=True)
class Baseline:
    """The C loop on the same tree."""

    binary: Path
    root: Path
    specs: tuple[str, ...]
    priority: int

    @classmethod
    def compile(cls, root: Path, board: BoardProfile, priority: int) -> Baseline:
        """Build the C file and turn the streams of the profile into its arguments, the compute unit first."""
        source = Path(__file__).with_name("observer_baseline.c")
        binary = root / "observer_baseline"
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", binary, source], check=True)
        specs = [
            f"{plan.period_ms * 1e6:.0f}:{int(plan.jitter)}:{root}/{FILES[plan.kind]}"
            for plan in board.streams
            if plan.kind in FILES
        ]
        return cls(binary, root, tuple(specs), priority)

    def run(self, seconds: float) -> tuple[float, Nanoseconds]:
        """CPU time in seconds, and lateness of the compute unit's ticks."""
        late = self.root / "late"
        command = [str(self.binary), str(seconds), str(self.priority), str(late), *self.specs]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return int(output) / 1e9, np.fromfile(late, np.int64)


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process, to the nanosecond."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def measure_cpu(root: Path, board: BoardProfile, baseline: Baseline, repeats: Repeats) -> list[Line]:
    """CPU time per second of both while a device-bound runner works; the ratio is the median of paired ratios."""
    ours, theirs, startup = [], [], []
    for _ in range(repeats.cpu):
        runner = load.start("device", root, 2 * repeats.seconds + 1)
        theirs.append(baseline.run(repeats.seconds)[0] / repeats.seconds)
        seen = observe(root, board, repeats.seconds)
        load.completions(runner)
        ours.append(seen.cpu_seconds / (seen.end_ns - seen.begin_ns) * 1e9)
        startup.append(seen.startup_cpu_seconds)
    ratio = median(map(truediv, ours, theirs))
    return [
        Line("CPU time, ms per s", median(ours) * 1e3, median(theirs) * 1e3, ratio, MOST_CPU),
        Line("CPU time to start, ms once", median(startup) * 1e3),
    ]


def measure_lateness(root: Path, board: BoardProfile, baseline: Baseline, repeats: Repeats) -> list[Line]:
    """Lateness of the ticks of both with an endless loop on every core.

    The tail is compared pair by pair: on a machine that stands still now and then, one stop in one repeat would decide
    a tail pooled over all of them. The share of very late ticks is pooled, since most repeats have none.
    """
    ours, theirs = [], []
    with load.all_cores_busy():
        for _ in range(repeats.lateness):
            theirs.append(baseline.run(2 * repeats.seconds)[1])
            ours.append(observe(root, board, 2 * repeats.seconds).late_ns)
    a, b = np.concatenate(ours), np.concatenate(theirs)
    share_a, share_b = float(np.mean(a > LATE_NS)), float(np.mean(b > LATE_NS))
    tails_a, tails_b = ([float(np.percentile(late, 99.9)) / 1e3 for late in side] for side in (ours, theirs))
    middle_a, middle_b = (float(np.percentile(late, 50)) / 1e3 for late in (a, b))
    floor = max(share_b, UNSEEN_TICKS / len(b))
    ratios = list(map(truediv, tails_a, tails_b))
    low, high = median_interval(ratios)
    return [
        Line("ticks > 1 ms late, %, loaded", share_a * 100, share_b * 100, share_a / floor, MOST_LATENESS),
        Line("p99.9 lateness, us, loaded", median(tails_a), median(tails_b), median(ratios), MOST_LATENESS, low, high),
        Line("median lateness, us, loaded", middle_a, middle_b, middle_a / middle_b),
    ]


def measure_loss(root: Path, board: BoardProfile, kind: str, processes: int, repeats: Repeats) -> list[float]:
    """Throughput that loops lose to the observer, in percent, in each pair of neighbouring spans with and without it.

    The loops run on; the observer comes and goes, first or second in turn, so that a drift cancels.
    """
    spans = []
    pause = repeats.seconds + 1.0
    runners = [load.start(kind, root, repeats.throughput * 2 * pause + 2.0) for _ in range(processes)]
    for turn in range(repeats.throughput):
        pair: dict[bool, tuple[int, int]] = {}
        for watched in (True, False) if turn % 2 else (False, True):
            begin_ns = now_ns()
            if watched:
                seen = observe(root, board, repeats.seconds)
                pair[watched] = (seen.begin_ns, seen.end_ns)
            else:
                sleep(repeats.seconds)
                pair[watched] = (begin_ns, now_ns())
        spans.append(pair)
    times = [load.completions(runner) for runner in runners]
    rates = [{on: sum(load.rate(t, *span) for t in times) for on, span in pair.items()} for pair in spans]
    return [100 * (1 - pair[True] / pair[False]) for pair in rates]


def median_interval(values: list[float]) -> tuple[float, float]:
    """Two of the values between which the median of what they were drawn from lies with 95 % or more (binomial)."""
    ordered, outside, rank = sorted(values), 0.0, 0
    while (outside := outside + 2 * math.comb(len(values), rank) / 2 ** len(values)) <= 0.05:
        rank += 1
    return ordered[max(rank - 1, 0)], ordered[-max(rank, 1)]


def run(root: Path, repeats: Repeats) -> tuple[list[Line], str]:
    """All experiments; the lines of the table, and the scheduling policy both sides had."""
    board = load_board("kv260")
    realtime = observe(build(root), board, 0.1).realtime
    baseline = Baseline.compile(root, board, PRIORITY if realtime.startswith("SCHED_FIFO") else 0)
    lines = measure_cpu(root, board, baseline, repeats) + measure_lateness(root, board, baseline, repeats)
    cores = len(os.sched_getaffinity(0))
    for name, kind, processes, bound in (
        ("device-bound", "device", 1, MOST_LOSS_PERCENT),
        ("every core CPU-bound", "cpu", cores, None),
    ):
        losses = measure_loss(root, board, kind, processes, repeats)
        low, high = median_interval(losses)
        lines.append(Line(f"throughput lost, {name}, %", value=median(losses), bound=bound, low=low, high=high))
    return lines, realtime


def show(line: Line) -> str:
    """One row of the table."""
    cells = [line.observer, line.baseline, line.value, line.bound]
    text = "".join(f"{'' if cell is None else f'{cell:.3f}':>11}" for cell in cells)
    interval = "" if line.low is None else f"{line.low:.3f} to {line.high:.3f}"
    return f"{line.name:<42}{text}  {interval} {line.verdict}".rstrip()


def main() -> int:
    """Measure, print, compare with the bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="about a minute instead of about ten")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    options = parser.parse_args()
    repeats = SHORT if options.short else LONG
    # In memory where the system offers it, as sysfs is; a disk's latency is no part of either side.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        lines, realtime = run(Path(folder), repeats)
    print(f"both sides under {realtime}; repeats: {repeats}")
    print(f"{'':<42}{'observer':>11}{'C loop':>11}{'value':>11}{'bound':>11}")
    for line in lines:
        print(show(line))
    if options.json:
        figures = [asdict(line) | {"verdict": line.verdict} for line in lines]
        report = {"realtime": realtime, "repeats": asdict(repeats), "lines": figures}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if any(line.verdict == EXCEEDED for line in lines) else 0


def now_ns() -> int:
    """The instant on the clock that samples are stamped with."""
    return SystemClock.now_ns()


def sleep(seconds: float) -> None:
    """Let a measurement run for a while."""
    SystemClock.sleep_until_ns(now_ns() + int(seconds * 1e9))


if __name__ == "__main__":
    sys.exit(main())
