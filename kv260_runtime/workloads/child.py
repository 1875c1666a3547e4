"""A child process whose lines are stamped at arrival, and which never outlives the run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from kv260_runtime.errors import ExitCode, KvbenchError
from telemetry.clock import Clock

POLL_NS = 200_000_000
"""How often a waiting loop looks up: often enough for a live display and for Ctrl-C."""
F_SETPIPE_SZ = 1031
"""fcntl(2); the fcntl module has it from Python 3.10 on some systems only."""
REPORT_PERIOD_NS = 100_000_000
"""Lines of a report carry their own stamps, so they are fetched in batches: waking up for each would be a cost of ours
that a fast model pays for a thousand times a second."""
REPORT_PIPE_BYTES = 1 << 20
"""Room for a tenth of a second of the fastest model, and then some."""
KEPT_LINES = 30
"""Last lines of stdout and stderr kept for the report of a failure."""


@dataclass(frozen=True)
class Line:
    """One line of a child, without its newline."""

    t_ns: int
    """CLOCK_MONOTONIC when the bytes arrived, taken before any parsing."""
    source: str
    """`stdout`, `stderr` or `report`."""
    text: bytes


class Child:
    """A process in its own session, so that a Ctrl-C at the terminal reaches us first and we decide.

    Use as a context manager: leaving it kills whatever is left of the process group.
    """

    def __init__(
        self, command: Sequence[str], clock: Clock, environment: Mapping[str, str], *, report: bool = False
    ) -> None:
        self._clock = clock
        self._queue: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self.last_lines: deque[str] = deque(maxlen=KEPT_LINES)
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
        assert self.process.stdout is not None and self.process.stderr is not None
        sources = {"stdout": self.process.stdout.fileno(), "stderr": self.process.stderr.fileno()}
        if report:
            sources["report"] = report_read
        self._open = len(sources)
        self._report_read = report_read
        self._threads = [threading.Thread(target=self._pump, args=item, daemon=True) for item in sources.items()]
        for thread in self._threads:
            thread.start()

    def _pump(self, source: str, descriptor: int) -> None:
        """Read one descriptor to its end; the stamp is taken before the bytes are looked at."""
        rest = b""
        while True:
            data = os.read(descriptor, REPORT_PIPE_BYTES)
            t_ns = self._clock.now_ns()
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            for text in whole:
                self._queue.put(Line(t_ns, source, text))
            if source == "report":
                self._clock.sleep_until_ns(t_ns + REPORT_PERIOD_NS)
        if rest:
            self._queue.put(Line(t_ns, source, rest))
        self._queue.put(None)

    def send(self, text: str) -> None:
        """Write one line to the child's stdin; a child that is gone is noticed by its lines ending, not here."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{text}\n".encode())
            self.process.stdin.flush()

    def lines(self, deadline_ns: int, tick: Callable[[], None]) -> Iterator[Line]:
        """Lines as they come, until all outputs have ended or the deadline has passed.

        The caller tells the two apart by `ended`.
        """
        tick_due_ns = 0
        while self._open:
            now_ns = self._clock.now_ns()
            left_ns = deadline_ns - now_ns
            if left_ns <= 0:
                return
            if now_ns >= tick_due_ns:
                tick()
                tick_due_ns = now_ns + POLL_NS
            try:
                line = self._queue.get(timeout=min(left_ns, POLL_NS) / 1e9)
            except queue.Empty:
                continue
            if line is None:
                self._open -= 1
                continue
            if line.source != "report":
                self.last_lines.append(line.text.decode(errors="replace"))
            yield line

    @property
    def ended(self) -> bool:
        """True once every output of the child has been read to its end."""
        return self._open == 0

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
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        if self._report_read >= 0:
            os.close(self._report_read)
            self._report_read = -1


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
