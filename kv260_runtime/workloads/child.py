"""A child process whose lines are stamped at arrival, and which never outlives the run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import select
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple

from kv260_runtime.errors import ExitCode, KvbenchError
from telemetry.clock import Clock

POLL_NS = 200_000_000
"""How often a waiting loop looks up: often enough for a live display and for Ctrl-C."""
GRACE_NS = 500_000_000
"""How long the outputs of a process that has ended are still read: something it left behind may hold them open."""
F_SETPIPE_SZ = 1031
"""fcntl(2); the fcntl module has it from Python 3.10 on some systems only."""
REPORT_PERIOD_NS = 100_000_000
"""Lines of a report carry their own stamps, so they are fetched in batches: waking up for each would be a cost of ours
that a fast model pays for a thousand times a second."""
REPORT_PIPE_BYTES = 1 << 20
"""Room for a tenth of a second of the fastest model, and then some."""
READ_BYTES = 8192
LONGEST_LINE_BYTES = 1 << 16
"""Where a line that does not end is cut."""
QUEUED_READS = 8
"""Reads that wait to be looked at; beyond them the pipe fills and the child waits, so memory stays bounded."""
LINE_NS = 20_000
"""What a line may take of our time in the long run, 50 000 lines a second; 100 bytes count as one line more."""
BURST_NS = 10_000_000_000
"""How much of that time may be saved up: half a million lines come through at once."""
KEPT_LINES = 30
"""Last lines of stdout and stderr kept for the report of a failure."""
KEPT_BYTES = 2000
"""Of each of them."""
GUARD = "read _; kill -9 -$1"
"""Waits for its input to end, which it does with this process however that ends, and kills the child's group."""


class Line(NamedTuple):
    """One line of a child, without its newline."""

    t_ns: int
    """CLOCK_MONOTONIC when the bytes arrived, taken before any parsing."""
    source: str
    """`stdout`, `stderr` or `report`."""
    text: bytes


class Child:
    """A process in its own session, so that a Ctrl-C at the terminal reaches us first and we decide.

    Use as a context manager: leaving it kills whatever is left of the process group; a guard process does so if we
    are killed ourselves.
    """

    def __init__(
        self, command: Sequence[str], clock: Clock, environment: Mapping[str, str], *, report: bool = False
    ) -> None:
        self._clock = clock
        self._queue: queue.Queue[tuple[int, str, list[bytes]] | None] = queue.Queue(QUEUED_READS)
        self._pending: deque[Line] = deque()
        self._last: deque[bytes] = deque(maxlen=KEPT_LINES)
        self._closing = self._abandoned = False
        self.exited_ns: int | None = None
        """When the process ended, whoever holds its outputs open; None while it runs."""
        self.held_back = False
        """Whether the child printed more than is read, and had to wait for us."""
        report_read, report_write = _report_pipe() if report else (-1, -1)
        arguments = [*command, "--report-fd", str(report_write)] if report else list(command)
        try:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE if report else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                pass_fds=(report_write,) if report else (),
                start_new_session=True,
            )
        except OSError as error:
            if report:
                os.close(report_read)
            raise KvbenchError(f"{command[0]}: cannot be started ({error.strerror})", ExitCode.UNAVAILABLE) from error
        finally:
            if report:
                os.close(report_write)
        self._guard = _start_guard(self.process.pid)
        self._report_read = report_read
        self._start_threads()

    def _start_threads(self) -> None:
        assert self.process.stdout is not None and self.process.stderr is not None
        sources = {"stdout": self.process.stdout.fileno(), "stderr": self.process.stderr.fileno()}
        if self._report_read >= 0:
            sources["report"] = self._report_read
        self._open = len(sources)
        self._wake_read, self._wake_write = os.pipe()
        self._threads = [threading.Thread(target=self._pump, args=item, daemon=True) for item in sources.items()]
        self._threads.append(threading.Thread(target=self._watch, daemon=True))
        for thread in self._threads:
            thread.start()

    def _watch(self) -> None:
        """Stamp the end of the process; it is left for `wait` to collect, so its group's number stays taken."""
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        self.exited_ns = self._clock.now_ns()

    def _pump(self, source: str, descriptor: int) -> None:
        """Read one descriptor to its end; the stamp is taken before the bytes are looked at."""
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        poller.register(self._wake_read, select.POLLIN)
        size = REPORT_PIPE_BYTES if source == "report" else READ_BYTES
        rest, paid_ns = b"", 0
        while not any(ready == self._wake_read for ready, _ in poller.poll()):
            data = os.read(descriptor, size)
            t_ns = self._clock.now_ns()
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            if len(rest) > LONGEST_LINE_BYTES:
                whole.append(rest)
                rest = b""
            if whole:
                self._put((t_ns, source, whole))
            if source == "report":
                self._pause(REPORT_PERIOD_NS)
                continue
            paid_ns = max(paid_ns, t_ns - BURST_NS) + LINE_NS * (len(whole) + len(data) // 100)
            if paid_ns > t_ns and self.exited_ns is None:
                self.held_back = True
                self._pause(paid_ns - t_ns)
        if rest:
            self._put((self._clock.now_ns(), source, [rest]))
        self._put(None)

    def _put(self, item: tuple[int, str, list[bytes]] | None) -> None:
        """Hand on one read, waiting until there is room; nobody looks any more once `kill` has begun."""
        if not self._closing:
            self._queue.put(item)

    def _pause(self, span_ns: int) -> None:
        """Leave the pipe alone for so long, or until `kill`."""
        select.select([self._wake_read], [], [], span_ns / 1e9)

    def send(self, text: str) -> None:
        """Write one line to the child's stdin; a child that is gone is noticed by its lines ending, not here."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{text}\n".encode())
            self.process.stdin.flush()

    def lines(self, deadline_ns: int, tick: Callable[[], None]) -> Iterator[Line]:
        """Lines as they come, until the child has ended or the deadline has passed.

        The caller tells the two apart by `ended`.
        """
        tick_due_ns = 0
        while not self.ended:
            while self._pending:
                line = self._pending.popleft()
                if line.source != "report":
                    self._last.append(line.text)
                yield line
            now_ns = self._clock.now_ns()
            left_ns = deadline_ns - now_ns
            if left_ns <= 0:
                return
            if now_ns >= tick_due_ns:
                tick()
                tick_due_ns = now_ns + POLL_NS
            self._fetch(min(left_ns, POLL_NS))

    def _fetch(self, timeout_ns: int) -> None:
        """The next read, if one comes in time; gives up on outputs that outlive the process."""
        try:
            item = self._queue.get(timeout=timeout_ns / 1e9)
        except queue.Empty:
            exited_ns = self.exited_ns
            self._abandoned = exited_ns is not None and self._clock.now_ns() >= exited_ns + GRACE_NS
            return
        if item is None:
            self._open -= 1
            return
        t_ns, source, texts = item
        self._pending.extend(Line(t_ns, source, text) for text in texts)

    @property
    def ended(self) -> bool:
        """True once every output has been read to its end, or the process has ended and its outputs are silent."""
        return self._abandoned or self._open == 0

    @property
    def last_lines(self) -> list[str]:
        """What it said last on stdout and stderr."""
        return [text[:KEPT_BYTES].decode(errors="replace") for text in self._last]

    def wait(self, seconds: float = 5.0) -> int | None:
        """The exit code, negative for a signal; None if the process is still alive after `seconds`."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """End the whole process group and release the pipes; idempotent."""
        if self._closing:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self._guard.kill()
        self._guard.wait()
        self._closing = True
        os.close(self._wake_write)
        with contextlib.suppress(queue.Empty):
            while True:  # makes room for those who wait for it
                self._queue.get_nowait()
        for thread in self._threads:
            thread.join()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr, self._guard.stdin):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        os.close(self._wake_read)
        if self._report_read >= 0:
            os.close(self._report_read)


def _start_guard(group: int) -> subprocess.Popen[bytes]:
    """A shell that sleeps on a pipe of ours; cheaper than a thread of ours that wakes up, and outlives SIGKILL."""
    return subprocess.Popen(
        ["/bin/sh", "-c", GUARD, "kvbench-guard", str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _report_pipe() -> tuple[int, int]:
    """A pipe large enough to be read in batches; the size is a wish that a system may refuse."""
    read, write = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(read, F_SETPIPE_SZ, REPORT_PIPE_BYTES)
    return read, write


def describe_exit(code: int | None) -> str:
    """An exit code in words."""
    if code is None:
        return "did not end"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
