"""A day of kv260-telemetry in virtual time: memory, counters and gaps through everything that may happen to a board.

    python -m tools.bench.day [--hours 24]

Readers, sampler, hand-over, raw file, pipe, ledger, metrics and answers are the real ones; only the clock is not, and
the sensors' values are functions of it. In each day the power sensor goes for an hour and comes back, comes back once
under another number, the disk is full for two hours, the wall clock is set ahead by a day, and the memory monitor is
reset. Exit code 1 if resident memory grows by 1 MB or more after half an hour, if a counter falls, a figure is
negative or zero, a gap is not counted, or energy, busy time or bytes differ from the truth by more than 0.5 %.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from telemetry.exporter import metrics_app
from telemetry.feed import FeedReader, FeedWriter
from telemetry.instruments import Instruments
from telemetry.model import Stream
from telemetry.service.desk import Desk
from telemetry.service.ledger import Ledger
from telemetry.service.metrics import METRICS, rows
from telemetry.service.requests import Between
from telemetry.service.snapshot import ServiceState
from telemetry.session import ChunkWriter, SessionLog
from telemetry.session.schema import fold_log

from .day_board import BOARD, DayBoard, DayClock
from .static_tree import build

HOUR = 3600 * 1_000_000_000
FRAME_NS = 10_000_000_000
LOOK_EVERY = 6
"""Frames between two looks at everything: a minute."""
HISTORY_NS = 600_000_000_000
RING_BYTES = 1_500_000
"""Small enough to be full within the warming up, and so its pages in memory."""
MOST_GROWTH_BYTES = 1_000_000
MOST_ERROR = 0.005
WARM_UP_LOOKS = 30
"""Half an hour: histories and raw file are full."""
DISK_BYTES = 50_000
"""What a full disk lets a file grow to."""


@dataclass
class Day:
    """One simulated service, and what was wrong with it."""

    board: DayBoard
    instruments: Instruments
    writer: ChunkWriter
    feed: FeedWriter
    pipe: int
    raw: Path
    ledger: Ledger = field(default_factory=lambda: Ledger(HISTORY_NS))
    faults: list[str] = field(default_factory=list)
    unwritten: int = 0
    """Frames whose samples did not reach the raw file."""
    frames: int = 0
    rendered_bytes: int = 0
    state: ServiceState | None = None
    counters: dict[tuple[str, ...], float] = field(default_factory=dict)
    resident: list[int] = field(default_factory=list)
    """Bytes of memory at each look."""

    def __post_init__(self) -> None:
        self.reader = FeedReader()
        self.desk = Desk(self.ledger, dict)
        self.metrics = metrics_app(lambda: self.present)

    @property
    def present(self) -> ServiceState:
        """The latest state."""
        assert self.state is not None
        return self.state

    def hand_over(self) -> None:
        """What the recorder and the service do once in a while; here on one thread."""
        self.unwritten += self.instruments.hand_over(self.writer, self.feed) is not None
        if self.writer.log_is_long and not self.board.disk_is_full:
            fold_log(self.raw)
        for frame in self.reader.frames(os.read(self.pipe, 1 << 24)):
            self.ledger.take(frame)
        self.frames += 1
        self.state = ServiceState(self.ledger.snapshot(self.board.clock.now_ns()), self.board.wall_offset_ns, "day")
        if self.frames % LOOK_EVERY == 0:
            self._look()

    def _look(self) -> None:
        """Hold every figure against what must always be so, as a scraper and a client would see it."""
        now_ns = self.board.clock.now_ns()
        for name, labels, value in rows(self.present):
            key = (name, *labels)
            if METRICS[name].kind == "counter":
                if value < self.counters.get(key, 0.0):
                    self.faults.append(f"{key} fell from {self.counters[key]} to {value}")
                self.counters[key] = value
            elif value < 0 or (name in ("kv_power_watts", "kv_sampler_effective_hertz") and value == 0):
                self.faults.append(f"{key} is {value}")
        body = self.metrics({"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}, lambda *_: None)
        self.rendered_bytes = sum(map(len, body))
        answer = self.desk.answer(Between("joules", now_ns - 30 * 10**9, now_ns - 10**9, None), now_ns)
        if answer["ok"] and not 4 < answer["watts"] < 10:
            self.faults.append(f"a client was told {answer['watts']} W")
        self.resident.append(_resident_bytes())


def _resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def simulate(root: Path, hours: float) -> Day:
    """Play it to its end."""
    clock = DayClock()
    board = DayBoard(build(root / "board"), clock)
    instruments = Instruments(board, root / "board", clock)
    instruments.open(BOARD)
    if instruments.missing:
        raise SystemExit(f"sensors missing: {instruments.missing}")
    log = SessionLog.create(root / "raw.kvs", clock)
    streams: list[Stream] = [one.stream for one in instruments.opened.values()]
    reading, writing = os.pipe()
    writer = ChunkWriter(log.path, streams, RING_BYTES)
    day = Day(board, instruments, writer, FeedWriter(writing, streams), reading, log.path)
    [sampler] = instruments.samplers.values()
    length_ns = int(hours * HOUR)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_disk(full: bool) -> None:
        board.disk_is_full = full
        resource.setrlimit(resource.RLIMIT_FSIZE, (DISK_BYTES if full else limits[0], limits[1]))

    for share, event in (
        (0.2, board.remove_power),
        (0.2 + 1 / 24, board.return_power),
        (0.4, board.renumber_power),
        (0.5, lambda: fill_disk(True)),
        (0.5 + 2 / 24, lambda: fill_disk(False)),
        (0.7, board.step_wall_clock),
        (0.8, board.reset_monitor),
        (1.0, sampler.stop),
    ):
        clock.at(int(share * length_ns), event)
    clock.every(FRAME_NS, day.hand_over)
    try:
        sampler.run()
        day.hand_over()
    finally:
        fill_disk(False)
        writer.close()
        log.close()
        instruments.close()
        os.close(reading)
        os.close(writing)
    return day


def verdicts(day: Day) -> Iterator[str]:
    """What is wrong with a day; nothing, it is hoped."""
    yield from dict.fromkeys(day.faults)
    begin = day.resident[WARM_UP_LOOKS]
    growth = max(day.resident[WARM_UP_LOOKS:]) - begin
    if growth >= MOST_GROWTH_BYTES:
        yield f"resident memory grew by {growth / 1e6:.2f} MB"
    for what, found, true in figures(day):
        if abs(found / true - 1) > MOST_ERROR:
            yield f"{what}: {found:.6g} counted, {true:.6g} true"
    by_name = {totals.stream.name: totals for totals in day.present.snapshot.streams}
    gone = by_name["power.som"].gaps.get("vanished", 0) * by_name["power.som"].stream.period_ns
    if abs(gone - day.board.power_gone_ns) > 0.01 * day.board.power_gone_ns:
        yield f"the power sensor was gone for {day.board.power_gone_ns / 1e9:.0f} s, {gone / 1e9:.0f} s counted"
    if not by_name["apm"].gaps.get("restarted"):
        yield "the reset of the memory monitor was not counted"
    if day.unwritten == 0:
        yield "the full disk was not noticed"


def figures(day: Day) -> Iterator[tuple[str, float, float]]:
    """Name, counted and true total of each integrated figure."""
    counters = {totals.stream.name: totals.counters for totals in day.present.snapshot.streams}
    truth = day.board.truth()
    yield "energy, J", counters["power.som"]["joules"], truth.joules
    yield "busy time, s", counters["cu"]["busy.DPUCZDX8G_1"], truth.busy_seconds
    yield "bytes", sum(counters["apm"].values()), truth.bytes
    yield "CPU time, s", counters["cpu"]["busy.cpu0"], truth.cpu_seconds


def main() -> int:
    """Simulate, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=24.0, help="of virtual time (default 24, at least 2)")
    options = parser.parse_args()
    begin = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        day = simulate(Path(folder), max(options.hours, 2.0))
    samples = sum(totals.samples for totals in day.present.snapshot.streams)
    warm = day.resident[WARM_UP_LOOKS]
    print(f"{options.hours:g} h in {perf_counter() - begin:.0f} s: {samples} samples, {day.frames} frames")
    print(
        f"resident memory {warm / 1e6:.2f} MB after warming up, {day.resident[-1] / 1e6:.2f} MB at the end, "
        f"{max(day.resident) / 1e6:.2f} MB at most; exposition {day.rendered_bytes} bytes"
    )
    print(f"{day.unwritten} frames did not reach the raw file")
    for what, found, true in figures(day):
        print(f"{what:<14}{found:>18.6g}{true:>18.6g}{(found / true - 1) * 100:>9.3f} %")
    wrong = list(verdicts(day))
    for line in wrong:
        print(f"WRONG: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
