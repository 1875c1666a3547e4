"""A recording in progress: starts a recorder process, talks to it, ends it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Literal

import msgspec

from telemetry import errors
from telemetry.errors import RecorderEnded, SessionError
from telemetry.protocol import FLUSH, STOP, RecorderPlan, RecorderReady, Reply, StreamSummary

__all__ = ["RecorderPlan", "RecorderReady", "Recording", "StreamSummary"]

ANSWER_SECONDS: Mapping[str, float] = {"ready": 30.0, "flushed": 5.0, "stopped": 10.0}
"""How long each answer may take: sensors to be found, a commit to a slow card, the log to be folded in.
A recorder that says nothing for so long is stuck."""
EXIT_SECONDS = 5.0
"""How long it may take to end once its standard input is closed."""
KILL_SECONDS = 1.0


class Recording:
    """A running recorder process; closed by `stop`, or by the end of this process."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> None:
        self._process = process
        self._errors = complaints
        self._said = ""
        self._stuck = ""
        self._received = b""
        self.ready = RecorderReady([], {}, "", process.pid)
        self.summary: dict[str, StreamSummary] = {}
        """Samples, missed slots and late samples of each stream; known once stopped."""

    @classmethod
    def start(cls, plan: RecorderPlan, *, env: Mapping[str, str] | None = None) -> Recording:
        """Start recording and return once the first samples are being taken.

        `env` is added to this process's environment. Raises SensorNotFound if a required sensor is missing,
        SessionError if the file cannot be written, RecorderEnded if the recorder does not start.
        """
        complaints = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process, and a pipe could fill up
        process = subprocess.Popen(
            [sys.executable, "-m", "telemetry.recorder"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={**os.environ, **(env or {})},
            pass_fds=() if plan.feed is None else (plan.feed,),
            # A Ctrl-C in the terminal is for the parent, which then says stop.
            start_new_session=True,
        )
        recording = cls(process, complaints)
        try:
            ready = recording._ask(msgspec.json.encode(plan).decode(), "ready").ready
        except BaseException:
            recording._end()
            raise
        assert ready is not None
        recording.ready = ready
        return recording

    def flush(self) -> None:
        """Return when all that was sampled up to now can be read from the session; SessionError if it cannot.

        Raises RecorderEnded if there is no recorder left to ask; one that does not answer is killed.
        """
        reply = self._ask(FLUSH, "flushed")
        if reply.failed:
            raise SessionError(reply.failed)

    def stop(self) -> None:
        """End the recording and wait until its file is closed; idempotent.

        Raises SessionError if the last samples could not be written, RecorderEnded if it does not answer and is killed.
        """
        if self._stuck or self._process.poll() is not None:
            self._end()
            return
        try:
            reply = self._ask(STOP, "stopped")
        finally:
            self._end()
        self.summary = reply.stopped or {}
        if reply.failed:
            raise SessionError(reply.failed)

    def poll(self) -> str | None:
        """None while it records, else one line on why it does not."""
        if self._stuck:
            return self._stuck
        code = self._process.poll()
        return None if code is None else self._obituary(code)

    def _ask(self, line: str, answer: Literal["ready", "flushed", "stopped"]) -> Reply:
        """Send one line and return its answer; raises what the recorder reports instead of one."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise RecorderEnded(self._obituary(self._died())) from None
        while True:
            reply = msgspec.json.decode(self._line(ANSWER_SECONDS[answer]), type=Reply)
            if getattr(reply, answer) is not None:
                return reply
            if reply.failed and reply.flushed is None:
                raise getattr(errors, reply.error)(reply.failed)
            # The answer to a request that a Ctrl-C kept its asker from waiting for.

    def _line(self, seconds: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._received:
            if not select.select([descriptor], [], [], seconds)[0]:
                self._stuck = f"the recorder had not answered for {seconds:g} s and was killed"
                self._died(0.0)
                raise RecorderEnded(self._stuck)
            data = os.read(descriptor, 65536)
            if not data:
                raise RecorderEnded(self._obituary(self._died()))
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _obituary(self, code: int) -> str:
        """One line on how the recorder ended: the last one it wrote to its standard error, if any."""
        self._hear()
        manner = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return f"the recorder {manner}" + (f": {self._said}" if self._said else "")

    def _hear(self) -> None:
        """Remember the last line of its standard error, while that can be read."""
        if not self._errors.closed:
            self._errors.seek(0)
            lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            self._said = lines[-1] if lines else ""

    def _end(self) -> None:
        """Close the recorder's standard input, which ends it, and wait for so long as that may take."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not pipe.closed:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._died(0.0 if self._stuck else EXIT_SECONDS)
        self._hear()
        self._errors.close()

    def _died(self, patience: float = EXIT_SECONDS) -> int:
        """Its exit code, after at most `patience` seconds by its own doing, else by ours.

        A process that a sensor holds inside the kernel outlives SIGKILL until the sensor lets go; nobody waits for it.
        """
        for seconds in (patience, KILL_SECONDS):
            try:
                return self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
        return -signal.SIGKILL
