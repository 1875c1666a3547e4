"""One sensor file kept open: errno to gap reasons, reopening after it vanished, and strict parsing of numbers."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import Files, OpenFile

REASONS = {
    errno.EAGAIN: "try again (EAGAIN)",
    errno.EBUSY: "busy (EBUSY)",
    errno.ENODATA: "no data (ENODATA)",
    errno.EIO: "input/output error (EIO)",
    errno.ENXIO: "no device (ENXIO)",
    errno.ENODEV: "vanished",
    errno.ENOENT: "vanished",
    errno.ESTALE: "stale (ESTALE)",
    errno.EACCES: "not permitted (EACCES)",
    errno.EPERM: "not permitted (EPERM)",
    errno.ETIMEDOUT: "timed out (ETIMEDOUT)",
}
"""Short and stable: they become label values and rows of a report."""

PASSING = frozenset({errno.EAGAIN, errno.EBUSY, errno.ENODATA, errno.EIO, errno.ETIMEDOUT})
"""Errors after which the same descriptor may answer; after any other it is opened anew."""

EMPTY = "empty"
GARBAGE = "garbage"
IMPLAUSIBLE = "implausible"
VANISHED = "vanished"

PROMPT_SEARCHES = 4
SEARCH_EVERY = 8
"""A lost file is searched for at each of the first reads, then at each so many: a search costs a hundred reads."""


def gap(error: OSError) -> ReadGap:
    """The gap that an error of one read makes."""
    if isinstance(error, ReadGap):
        return error
    number = error.errno or 0
    return ReadGap(REASONS.get(number) or f"error ({errno.errorcode.get(number, str(number))})")


SMALL_BYTES = 448
"""Holds nearly every sensor's text, and fits a small block of the interpreter's own, where a page costs a malloc."""
BYTES_MAX = 1 << 20


class SensorFile:
    """A file that is read again and again, at a place that may change.

    `locate` names the place and raises SensorNotFound or OSError if there is none now. It is called at the first read
    and after the file has gone: the old place may by then hold another sensor.
    """

    def __init__(self, files: Files, locate: Callable[[], Path], size: int = SMALL_BYTES) -> None:
        self._files = files
        self._locate = locate
        self._size = size
        self._open: OpenFile | None = None
        self._searches = 0

    def read(self) -> bytes:
        """The present content, never empty; ReadGap for any fault."""
        file, size = self._open, self._size
        try:
            if file is None:
                file = self._search()
            data = file.read(size)
        except OSError as error:
            if error.errno not in PASSING:
                self.close()
            raise gap(error) from error
        if not data:
            # No driver means "nothing" by an empty read, but a regular file that was replaced answers so for ever.
            self.close()
            raise ReadGap(EMPTY)
        if len(data) == size < BYTES_MAX:
            self._size *= 4
            return self.read()
        return data

    def close(self) -> None:
        """Give up the descriptor; the next read locates and opens the file anew."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _search(self) -> OpenFile:
        self._searches += 1
        if self._searches > PROMPT_SEARCHES and self._searches % SEARCH_EVERY:
            raise ReadGap(VANISHED)
        try:
            self._open = self._files.open(self._locate())
        except SensorNotFound:
            raise ReadGap(VANISHED) from None
        self._searches = 0
        return self._open


def whole_numbers(data: bytes) -> list[int]:
    """The integers on the one line of a sensor file; ReadGap if it holds anything else.

    One final newline is demanded: without it the text may be the first half of a number.
    """
    if not data.endswith(b"\n") or data.count(b"\n") != 1:
        raise ReadGap(GARBAGE)
    fields = data.split()
    if not all(field.removeprefix(b"-").isdigit() for field in fields):
        raise ReadGap(GARBAGE)
    return [int(field) for field in fields]


def whole_number(data: bytes) -> int:
    """The only integer on the only line of a sensor file; ReadGap if it holds anything else."""
    if not data.endswith(b"\n") or not data[:-1].removeprefix(b"-").isdigit():
        raise ReadGap(GARBAGE)
    return int(data)


def within(value: float, low: float, high: float) -> float:
    """`value`, or ReadGap if it lies outside what the sensor can mean (sentinels such as 4294967295000 uW, -256 C)."""
    if not low <= value <= high:
        raise ReadGap(IMPLAUSIBLE)
    return value


def text(files: Files, path: Path) -> str | None:
    """The stripped text of a small file, None if it cannot be read; for labels and names, never for values."""
    try:
        return files.read(path).decode("utf-8", "replace").strip("\0\n ")
    except OSError:
        return None
