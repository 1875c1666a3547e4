"""Errors that end a command in one line, each with the exit code that docs/exit-codes.md explains."""

from __future__ import annotations

from enum import IntEnum


def printable(text: str) -> str:
    """Text with what no terminal should be sent spelt out.

    >>> printable("a\\nb\\x1b[2J") == "a\\\\nb\\\\x1b[2J"
    True
    """
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def one_line(text: str) -> str:
    """A message on one line, whatever it holds."""
    return printable(" ".join(text.split()))


class ExitCode(IntEnum):
    """sysexits(3) where one fits; 3 to 5 are our own."""

    OK = 0
    REGRESSION = 3
    INCONCLUSIVE = 4
    NOT_MEASURED = 5
    """No run deserved a number."""
    USAGE = 64
    BAD_DATA = 65
    NO_INPUT = 66
    UNAVAILABLE = 69
    SOFTWARE = 70
    CANNOT_CREATE = 73
    IO_ERROR = 74
    PERMISSION = 77
    CONFIG = 78
    INTERRUPTED = 130


class KvbenchError(Exception):
    """A fault the user can act on; the text is one line that names the thing, the value and the remedy."""

    exit_code = ExitCode.SOFTWARE

    def __init__(self, message: str, exit_code: ExitCode | None = None) -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code


class BoardUnavailable(KvbenchError, LookupError):
    """No such board here."""

    exit_code = ExitCode.UNAVAILABLE


class AcceleratorUnavailable(KvbenchError, ImportError):
    """The vendor's runtime is not importable by this interpreter."""

    exit_code = ExitCode.UNAVAILABLE


class ModelRejected(KvbenchError, ValueError):
    """The model cannot be run as asked (wrong target, no such subgraph, missing file)."""

    exit_code = ExitCode.BAD_DATA


class RunFailed(KvbenchError, OSError):
    """A workload ended without a usable result."""

    exit_code = ExitCode.NOT_MEASURED
