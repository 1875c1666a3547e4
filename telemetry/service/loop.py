"""The service's loop: frames in, one new state for each; clients, signals and systemd between them."""

from __future__ import annotations

import os
import selectors
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from telemetry.boards import BoardProfile
from telemetry.clock import Clock, wall_time_ns
from telemetry.errors import ConfigError, TelemetryError
from telemetry.feed import Frame
from telemetry.notify import Notifier
from telemetry.protocol import RecorderPlan
from telemetry.service.desk import Desk, Reply, described, news, refusal
from telemetry.service.ledger import Ledger
from telemetry.service.own_cost import OwnCost
from telemetry.service.requests import Flush, Mark, Request, Subscribe
from telemetry.service.server import Client, Server
from telemetry.service.snapshot import ServiceState, Snapshot
from telemetry.service.source import Source

SILENT_NS = 10_000_000_000
"""A loop of the recorder that neither reads nor misses anything for so long hangs."""
STATUS_NS = 10_000_000_000
FLUSH_NS = 20_000_000
"""The recorder is not asked to hand over more often, however many clients wait."""
LONGEST_WAIT_NS = 1_000_000_000
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True)
class ServiceOptions:
    """What the service was started with."""

    root: Path
    socket: Path
    raw: Path | None
    ring_bytes: int
    history_ns: int
    emulated: bool
    files: str | None = None


class Service:
    """Owns the recorder and the socket; everything here happens in the thread that calls `run`."""

    def __init__(
        self, options: ServiceOptions, load: Callable[[], BoardProfile], clock: Clock, notifier: Notifier
    ) -> None:
        self._options = options
        self._load = load
        self._clock = clock
        self._notifier = notifier
        self._board = load()
        self._ledger = Ledger(options.history_ns)
        self._desk = Desk(self._ledger, self._describe)
        self._own_cost = OwnCost()
        self._selector = selectors.DefaultSelector()
        self._marks = 0
        self._is_ready = False
        self._status_ns = self._watched_ns = self._flushed_ns = self._published_ns = 0
        self._wanted_ns: int | None = None
        """When the recorder is to hand over early, because a client waits for samples."""
        self._ending = False
        self._source: Source | None = None
        self.state = ServiceState(Snapshot(0), board=self._board.name, emulated=options.emulated)

    def start(self) -> None:
        """Listen to signals and clients, and start recording; raises TelemetryError if one of these cannot be."""
        self._wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        self._selector.register(self._wake, selectors.EVENT_READ, self._heed_signals)
        self._server = Server(self._options.socket, self._selector, self._heed)
        try:
            self._record()
        except BaseException:
            self._server.close()
            raise

    def run(self) -> None:
        """Serve until a signal ends it; raises TelemetryError if the recorder dies."""
        try:
            while not self._ending:
                for key, _ in self._selector.select(self._wait_seconds()):
                    key.data()
                if self._clock.now_ns() - self._published_ns > LONGEST_WAIT_NS:
                    self._publish()  # no frame comes: silence is news too
                if self._wanted_ns is not None and self._clock.now_ns() >= self._wanted_ns:
                    self._flush()
                self._answer_all()
                self._server.settle()
        finally:
            self._notifier.send(STOPPING=1)
            self._server.close()
            if self._source is not None:
                self._stop_recording()

    def _record(self) -> None:
        options = self._options
        plan = RecorderPlan(
            str(options.root),
            self._board,
            str(options.raw) if options.raw else None,
            files=options.files,
            ring_bytes=options.ring_bytes,
        )
        self._source = Source(plan)
        self._selector.register(self._source, selectors.EVENT_READ, self._take_frames)
        for kind, reason in self._recorder.ready.missing.items():
            print(f"{kind}: {reason}", file=sys.stderr)

    def _stop_recording(self) -> None:
        source, self._source = self._recorder, None
        self._selector.unregister(source)
        if said := source.stop():
            print(said, file=sys.stderr)

    @property
    def _recorder(self) -> Source:
        assert self._source is not None
        return self._source

    # Frames

    def _take_frames(self) -> None:
        for frame in self._recorder.frames():
            self._pass_on(self._own_cost.add_to(frame))
            self._publish(bool(frame.samples))
            self._report(frame)

    def _pass_on(self, frame: Frame) -> None:
        """Take a frame on, and tell subscribers."""
        taken = self._ledger.take(frame)
        for client in self._server.clients:
            for stream in frame.streams:
                if client.wants(stream.name):
                    client.send({"stream": described(stream)})
        for series in taken:
            listening = [client for client in self._server.clients if client.wants(series.stream.name)]
            message = news(series) if listening else {}
            for client in listening:
                client.send(message)

    def _publish(self, advances: bool = False) -> None:
        self._published_ns = now_ns = self._clock.now_ns()
        silent = self._ledger.silent(now_ns, SILENT_NS)
        self.state = ServiceState(
            self._ledger.snapshot(now_ns),
            wall_offset_ns=wall_time_ns() - now_ns,
            board=self._board.name,
            emulated=self._options.emulated,
            marks=self._marks,
            clients=len(self._server.clients),
            ready=self.state.ready or advances,
            stuck=f"nothing heard of {', '.join(silent)}" if silent else None,
        )

    def _report(self, frame: Frame) -> None:
        """Tell systemd that samples advance, from the place that has just seen them do so."""
        if not frame.samples or self.state.stuck:
            return
        if not self._is_ready:
            self._is_ready = True
            self._notifier.send(READY=1)
        watchdog_ns = self._notifier.watchdog_ns
        if watchdog_ns is not None and frame.t_ns - self._watched_ns >= watchdog_ns // 4:
            self._watched_ns = frame.t_ns
            self._notifier.send(WATCHDOG=1)
        if frame.t_ns - self._status_ns >= STATUS_NS:
            self._status_ns = frame.t_ns
            self._notifier.send(STATUS=_summary(self.state))

    # Clients

    def _heed(self, client: Client, request: Request) -> Request:
        """Stamp a request as it comes, whatever waits before it, and pass a mark on."""
        if isinstance(request, Flush):
            return Flush(self._clock.now_ns())
        if not isinstance(request, Mark):
            return request
        mark = replace(request, t_ns=self._clock.now_ns() if request.t_ns is None else request.t_ns)
        self._marks += 1
        for other in self._server.clients:
            if other.subscribed:
                other.send({"mark": mark.name, "t_ns": mark.t_ns, "pid": client.pid})
        return mark

    def _answer_all(self) -> None:
        """Answer what can be answered, each client in its order; remember when the next one could be."""
        self._wanted_ns = None
        for client in self._server.clients:
            while client.requests and not client.closed:
                reply = self._answer(client, client.requests[0])
                if reply is None:
                    break
                client.requests.popleft()
                client.send(reply)

    def _answer(self, client: Client, request: Request | ConfigError) -> Reply | None:
        if isinstance(request, ConfigError):
            return refusal("request", str(request))
        due_ns = self._desk.due_ns(request, self._clock.now_ns())
        if isinstance(request, Flush) and request.t_ns > self._flushed_ns:
            due_ns = request.t_ns
        if due_ns is not None:
            due_ns = max(due_ns, self._flushed_ns + FLUSH_NS)
            self._wanted_ns = due_ns if self._wanted_ns is None else min(due_ns, self._wanted_ns)
            return None
        reply = self._desk.answer(request, self._clock.now_ns())
        if isinstance(request, Subscribe) and reply["ok"]:
            client.subscribed = request.streams
        return reply

    def _flush(self) -> None:
        self._flushed_ns = self._clock.now_ns()
        self._recorder.flush()
        self._take_frames()

    def _wait_seconds(self) -> float:
        if self._wanted_ns is None:
            return LONGEST_WAIT_NS / 1e9
        return min(max(self._wanted_ns - self._clock.now_ns(), 0), LONGEST_WAIT_NS) / 1e9

    def _describe(self) -> Reply:
        """What `status` says besides the streams."""
        snapshot = self.state.snapshot
        return {
            "board": self._board.name,
            "title": self._board.title,
            "root": str(self._options.root),
            "files": self._options.files,
            "emulated": self._options.emulated,
            "pid": os.getpid(),
            "realtime": self._recorder.ready.realtime,
            "history_seconds": self._options.history_ns / 1e9,
            "t_ns": snapshot.t_ns,
            "clients": len(self._server.clients),
            "missing": dict(snapshot.missing),
            "down": [totals.stream.name for totals in snapshot.streams if not totals.up],
            "raw_fault": snapshot.fault,
        }

    # Signals

    def _heed_signals(self) -> None:
        for number in os.read(self._wake, 64):
            if number == signal.SIGHUP:
                self._reload()
            else:
                self._ending = True

    def _reload(self) -> None:
        """Read the profile anew and record by it; a wrong one leaves everything as it is."""
        self._notifier.send(RELOADING=1, MONOTONIC_USEC=self._clock.now_ns() // 1000)
        before = self._board
        try:
            self._board = self._load()
            self._stop_recording()
            self._ledger.retire_all()
            self._own_cost.forget()
            self._record()
            print(f"reloaded: {self._board.name}", file=sys.stderr, flush=True)
        except TelemetryError as error:
            print(f"not reloaded: {error}", file=sys.stderr, flush=True)
            self._board = before
            if self._source is None:
                self._record()
        self._notifier.send(READY=1)


def _summary(state: ServiceState) -> str:
    streams = state.snapshot.streams
    up = [totals.stream.name for totals in streams if totals.up]
    missed = sum(sum(totals.gaps.values()) for totals in streams)
    down = [totals.stream.name for totals in streams if not totals.up] + list(state.snapshot.missing)
    return f"recording {', '.join(up)}; {missed} slots missed" + (f"; without {', '.join(down)}" if down else "")
