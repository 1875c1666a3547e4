"""The service's loop: frames in, one new state for each; signals, systemd and clients between them."""

from __future__ import annotations

import os
import resource
import selectors
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from telemetry.boards import BoardProfile
from telemetry.clock import Clock, wall_time_ns
from telemetry.errors import TelemetryError
from telemetry.feed import Frame
from telemetry.notify import Notifier
from telemetry.protocol import RecorderPlan
from telemetry.service.ledger import Ledger
from telemetry.service.snapshot import ServiceState, Snapshot
from telemetry.service.source import Source

SILENT_NS = 10_000_000_000
"""A loop of the recorder that neither reads nor misses anything for so long hangs."""
STATUS_NS = 10_000_000_000
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True)
class ServiceOptions:
    """What the service was started with."""

    root: Path
    raw: Path | None
    ring_bytes: int
    history_ns: int
    emulated: bool


class Service:
    """Owns the recorder; everything here happens in the thread that calls `run`."""

    def __init__(
        self, options: ServiceOptions, load: Callable[[], BoardProfile], clock: Clock, notifier: Notifier
    ) -> None:
        self._options = options
        self._load = load
        self._clock = clock
        self._notifier = notifier
        self._ledger = Ledger(options.history_ns)
        self._board = load()
        self._selector = selectors.DefaultSelector()
        self._status_ns = 0
        self._watched_ns = 0
        self._ending = False
        self.state = ServiceState(Snapshot(0), board=self._board.name, emulated=options.emulated)

    def start(self) -> None:
        """Start recording and listen to signals."""
        self._wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        self._selector.register(self._wake, selectors.EVENT_READ, self._heed_signals)
        self._record()

    def run(self) -> None:
        """Serve until a signal ends it; raises TelemetryError if the recorder dies."""
        while not self._ending:
            for key, _ in self._selector.select(1.0):
                key.data()
        self._notifier.send(STOPPING=1)
        self._stop_recording()

    def _record(self) -> None:
        options = self._options
        plan = RecorderPlan(
            str(options.root),
            self._board,
            str(options.raw) if options.raw else None,
            ring_bytes=options.ring_bytes,
        )
        self._source = Source(plan)
        self._selector.register(self._source, selectors.EVENT_READ, self._take_frames)

    def _stop_recording(self) -> None:
        self._selector.unregister(self._source)
        if said := self._source.stop():
            print(said, file=sys.stderr)

    def _take_frames(self) -> None:
        for frame in self._source.frames():
            self._ledger.take(frame)
            self._publish()
            self._report(frame)

    def _publish(self) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        silent = self._ledger.silent(SILENT_NS)
        self.state = ServiceState(
            self._ledger.snapshot(),
            wall_time_ns() - self._clock.now_ns(),
            self._board.name,
            self._options.emulated,
            usage.ru_utime + usage.ru_stime,
            ready=self.state.ready or bool(self._ledger.last.samples),
            stuck=f"nothing heard of {', '.join(silent)}" if silent else None,
        )

    def _report(self, frame: Frame) -> None:
        """Tell systemd that samples advance, from the place that has just seen them do so."""
        if not frame.samples or self.state.stuck:
            return
        if self._status_ns == 0:
            self._notifier.send(READY=1)
        watchdog_ns = self._notifier.watchdog_ns
        if watchdog_ns is not None and frame.t_ns - self._watched_ns >= watchdog_ns // 4:
            self._watched_ns = frame.t_ns
            self._notifier.send(WATCHDOG=1)
        if frame.t_ns - self._status_ns >= STATUS_NS:
            self._status_ns = frame.t_ns
            self._notifier.send(STATUS=_summary(self.state))

    def _heed_signals(self) -> None:
        for number in os.read(self._wake, 64):
            if number == signal.SIGHUP:
                self._reload()
            else:
                self._ending = True

    def _reload(self) -> None:
        """Read the profile anew and record by it; a wrong one leaves everything as it is."""
        self._notifier.send(RELOADING=1, MONOTONIC_USEC=self._clock.now_ns() // 1000)
        try:
            board = self._load()
        except TelemetryError as error:
            print(f"kv260-telemetry: not reloaded: {error}", file=sys.stderr)
        else:
            self._stop_recording()
            self._ledger.retire_all()
            self._board = board
            self._record()
        self._notifier.send(READY=1)


def _summary(state: ServiceState) -> str:
    streams = state.snapshot.streams
    up = [totals.stream.name for totals in streams if totals.up]
    missed = sum(sum(totals.gaps.values()) for totals in streams)
    down = [totals.stream.name for totals in streams if not totals.up] + list(state.snapshot.missing)
    return f"recording {', '.join(up)}; {missed} slots missed" + (f"; without {', '.join(down)}" if down else "")


