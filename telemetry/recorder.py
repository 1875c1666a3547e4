"""The recorder process: samples a board into a session file until its parent says stop or is gone.

Run as `python -m telemetry.recorder`; telemetry.protocol has what goes over its standard input and output.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from telemetry.clock import Clock, SystemClock
from telemetry.errors import SessionError, TelemetryError
from telemetry.feed import FeedWriter
from telemetry.files import load_files
from telemetry.instruments import Instruments
from telemetry.protocol import FLUSH, STOP, RecorderPlan, RecorderReady, Reply
from telemetry.realtime import apply_affinity, apply_realtime
from telemetry.session import ChunkWriter
from telemetry.session.schema import fold_log

COMMIT_NS = 750_000_000
"""How long a sample waits for its commit; the rest of the second that a kill may cost is for the commit itself."""
FEED_NS = 200_000_000
"""The same for a recorder that feeds a service, whose counters are as old as that."""
RETRY_NS = 30_000_000_000
"""How often a missing sensor is looked for."""
SWITCH_SECONDS = 2e-4
"""How long packing may hold the interpreter while a deadline waits."""
PR_SET_PDEATHSIG = 1
"""linux/prctl.h"""
JOIN_SECONDS = 0.4
"""How long a loop that was told to stop may take over its last read; a sensor that hangs is left behind."""


def wake_with_the_parent_gone() -> None:
    """Ask for SIGCONT when the parent ends: stopped by a debugger or a slip, it could not see its input close."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGCONT), 0, 0, 0)


class Recorder:
    """Loops in threads of their own, and a file that the calling thread fills."""

    def __init__(self, plan: RecorderPlan, clock: Clock) -> None:
        self._plan = plan
        self._clock = clock
        self._instruments = Instruments(load_files(plan.files), Path(plan.root), clock)
        self._writer: ChunkWriter | None = None
        self._feed: FeedWriter | None = None
        self.pace_ns = COMMIT_NS if plan.feed is None else FEED_NS
        self._threads: dict[str, threading.Thread] = {}
        self._closing = False
        self._fold_now = threading.Event()
        self._retry_ns = clock.now_ns() + RETRY_NS
        self._unwritten: str | None = None
        self._broken: str | None = None

    @property
    def fault(self) -> str | None:
        """Why samples are being lost, if they are: one line."""
        return self._broken or self._unwritten

    def start(self) -> RecorderReady:
        """Open sensors and file and begin to sample."""
        plan, instruments = self._plan, self._instruments
        instruments.open(plan.board)
        streams = [instrument.stream for instrument in instruments.opened.values()]
        if plan.feed is not None:
            self._feed = FeedWriter(plan.feed, streams)
        if plan.session is not None:
            self._writer = ChunkWriter(Path(plan.session), streams, plan.ring_bytes)
        realtime, cpu = apply_realtime(plan.realtime), apply_affinity(plan.cpu)
        sys.setswitchinterval(SWITCH_SECONDS)
        # Nothing here makes cycles, and a collection would stop the loops.
        gc.freeze()
        gc.disable()
        if self._writer is not None:
            self._spawn("fold", self._fold)
        self._spawn_loops()
        return RecorderReady(list(instruments.opened), instruments.missing_kinds(), realtime, os.getpid(), cpu)

    def commit(self) -> None:
        """Put what was read up to now into the file, and now and then look for missing sensors."""
        before = self.fault
        self._unwritten = self._instruments.hand_over(self._writer, self._feed)
        if self._clock.now_ns() >= self._retry_ns:
            self._retry_ns += RETRY_NS
            self._retry()
        if self._writer is not None and self._writer.log_is_long:
            self._fold_now.set()
        if self.fault and not before:
            complain(self.fault)

    def stop(self) -> Reply:
        """End the loops, commit, close the file."""
        self._closing = True
        self._fold_now.set()
        for sampler in self._instruments.samplers.values():
            sampler.stop()
        for thread in self._threads.values():
            thread.join(JOIN_SECONDS)
        self.commit()
        if not any(thread.is_alive() for thread in self._threads.values()):
            self._instruments.close()
        if self._writer is not None:
            self._writer.close()
        return Reply(stopped=self._instruments.summary(), failed=self.fault)

    def _retry(self) -> None:
        for stream in self._instruments.retry():
            if self._writer is not None:
                self._writer.add_stream(stream)
            if self._feed is not None:
                self._feed.add_stream(stream)
        self._spawn_loops()

    def _spawn_loops(self) -> None:
        for group, sampler in self._instruments.samplers.items():
            if group not in self._threads:
                self._spawn(group, sampler.run)

    def _spawn(self, name: str, target: Callable[[], None]) -> None:
        def run() -> None:
            try:
                target()
            except Exception as error:  # noqa: BLE001 - the top of a thread
                self._broken = f"{name}: {error!r}"

        self._threads[name] = threading.Thread(target=run, name=name, daemon=True)
        self._threads[name].start()

    def _fold(self) -> None:
        """Fold the log beside the commits, because its fsync may take longer than a sample may wait."""
        while self._fold_now.wait() and not self._closing:
            self._fold_now.clear()
            try:
                fold_log(Path(self._plan.session or ""))
            except SessionError as error:
                complain(str(error))


class Requests:
    """Lines from the parent, and signals."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pending = b""
        self._wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        # A parent that waits for these signals with sigwait has handed down its mask.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))

    def next(self, timeout_ns: int | None) -> str | None:
        """The next request within the time; None if there is none; `stop` also for a signal and for a parent gone."""
        timeout = None if timeout_ns is None else max(timeout_ns, 0) / 1e9
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self._descriptor, self._wake], [], [], timeout)
            if not ready:
                return None
            data = os.read(self._descriptor, 65536) if ready == [self._descriptor] else b""
            if not data:
                return STOP
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


def serve(recorder: Recorder, requests: Requests, clock: Clock) -> None:
    """Commit at a steady pace and answer the parent until told to stop."""
    due_ns = clock.now_ns() + recorder.pace_ns
    while True:
        request = requests.next(due_ns - clock.now_ns())
        if request == STOP:
            return
        recorder.commit()
        due_ns = clock.now_ns() + recorder.pace_ns
        if request == FLUSH:
            reply(Reply(flushed=clock.now_ns(), failed=recorder.fault))


def complain(line: str) -> None:
    """One line to standard error, which may be a file on the same full disk."""
    with suppress(OSError):
        os.write(sys.stderr.fileno(), line.encode() + b"\n")


def reply(message: Reply) -> None:
    """One line to the parent, who may be gone."""
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), msgspec.json.encode(message) + b"\n")


def main() -> int:
    """Read the plan, record, report; 1 with one line on what went wrong."""
    wake_with_the_parent_gone()
    clock = SystemClock()
    requests = Requests(sys.stdin.fileno())
    try:
        recorder = Recorder(msgspec.json.decode(requests.next(None) or "", type=RecorderPlan), clock)
        reply(Reply(ready=recorder.start()))
        serve(recorder, requests, clock)
        reply(recorder.stop())
    except (TelemetryError, msgspec.DecodeError) as error:
        reply(
            Reply(failed=str(error), error=type(error).__name__ if isinstance(error, TelemetryError) else "ConfigError")
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
