"""Standard streams that are closed, full, or cannot spell a character, dealt with before anything is measured."""

from __future__ import annotations

import io
import os
import sys

from kv260_runtime.errors import ExitCode, KvbenchError


class _Unfailing(io.TextIOWrapper):
    """Progress and messages: a full disk below them must not end a measurement."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            return


class _Output(io.TextIOWrapper):
    """Results: a fault is told as that of standard output, with its exit code. A closed pipe stays BrokenPipeError."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise _told(error) from error

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise _told(error) from error


def _told(error: OSError) -> Exception:
    if isinstance(error, BrokenPipeError):
        return error
    discard_output()
    return KvbenchError(f"standard output: {error.strerror or error}", ExitCode.IO_ERROR)


def prepare() -> None:
    """Give both streams their ways, and let them write any text; KvbenchError if there is no output."""
    output, own = sys.stdout, sys.stdout is sys.__stdout__
    _occupy_closed()
    if sys.stderr is sys.__stderr__:
        encoding = getattr(sys.stderr, "encoding", None)
        sys.stderr = _Unfailing(_buffer(2), encoding, "backslashreplace", line_buffering=True)
    if output is None:
        raise KvbenchError("standard output is closed: there is nowhere to write a result", ExitCode.IO_ERROR)
    if own:
        sys.stdout = _Output(_buffer(1), output.encoding, "replace", line_buffering=output.isatty())


def _buffer(descriptor: int) -> io.BufferedWriter:
    return io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False))


def _occupy_closed() -> None:
    """Lest the next file opened becomes standard output or error of every process started later."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free descriptor is this one, as those below are in use.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def discard_output() -> None:
    """Send the rest of the output nowhere, so that the interpreter does not fail on it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
