"""The CSV files of power meters: comma or semicolon, decimal point or comma, seconds or date stamps, header or none."""

from __future__ import annotations

import csv
import math
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path

import numpy as np

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.external.columns import Columns
from telemetry.model import Float64Array, Int64Array

LEAST_READINGS = 4
MOST_WATTS = 1e6
"""No supply of a board comes near; beyond it the unit or the column is not the one meant."""
MOST_SECONDS = 1e12
"""Either side of 0; a stamp in seconds since 1970 is below 1e10."""
LONGEST_SECONDS = 1e9
"""From the first reading to the last: nanoseconds of it fit in 64 bits, whatever the session's clock adds."""
MOST_BYTES = 1 << 30
LONGEST_LINE = 1 << 16
"""Characters."""
STAMP = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?\s*(Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True)
class Readings:
    """What a meter wrote, on its own clock."""

    t_ns: Int64Array
    """Since the first reading, shape (n,)."""
    watts: Float64Array

    @property
    def period_ns(self) -> int:
        """The usual interval between readings."""
        return int(np.median(np.diff(self.t_ns)))


class MeterFileError(KvbenchError, ValueError):
    """A meter's file that cannot be read as told; names the line."""

    exit_code = ExitCode.BAD_DATA


def read_readings(path: Path, columns: Columns) -> Readings:
    """Read a whole file. Raises KvbenchError in one line that names the file and, where there is one, the line."""
    try:
        found = path.stat()
        # Before it is opened: a pipe would wait for a writer, and a device has no end.
        if not stat.S_ISREG(found.st_mode):
            raise KvbenchError(f"{path}: not a regular file; save the meter's readings to one", ExitCode.NO_INPUT)
        if found.st_size > MOST_BYTES:
            raise MeterFileError(f"{path}: {found.st_size} bytes, at most {MOST_BYTES} are read; cut it to the session")
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise KvbenchError(f"{path}: cannot be read ({error.strerror})", ExitCode.NO_INPUT) from error
    return parse_readings(text, str(path), columns)


def parse_readings(text: str, source: str, columns: Columns) -> Readings:
    """The readings in a file's text. Raises MeterFileError for the first line that is not one."""
    rows = _rows(text, source)
    first = next(rows, None)
    if first is None:
        raise MeterFileError(f"{source}: the file has no lines")
    places, has_header = _places(first[1], columns, source)
    parse = _Parser(columns, places, source, decimal_comma=_delimiter(text) != ",")
    times: list[int] = []
    watts: list[float] = []
    for number, cells in rows if has_header else chain([first], rows):
        t_ns, power = parse.row(number, cells)
        if times and t_ns <= times[-1]:
            raise MeterFileError(f"{source}:{number}: time does not advance ({cells[places['time']]!r})")
        if times and t_ns - times[0] > LONGEST_SECONDS * 1e9:
            raise MeterFileError(
                f"{source}:{number}: {(t_ns - times[0]) / 1e9:g} s after the first reading, at most "
                f"{LONGEST_SECONDS:g} s are taken; check time_unit in the columns"
            )
        times.append(t_ns)
        watts.append(power)
    if len(times) < LEAST_READINGS:
        raise MeterFileError(f"{source}: {len(times)} readings, at least {LEAST_READINGS} are needed")
    return Readings(np.array([t_ns - times[0] for t_ns in times], np.int64), np.array(watts, np.float64))


Row = tuple[int, list[str]]
"""Line number and cells."""


def _delimiter(text: str) -> str:
    """Of the first line that has one; a file of semicolons or tabs may use commas inside numbers."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            return next((mark for mark in (";", "\t") if mark in line), ",")
    return ","


def _lines(text: str, source: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            raise MeterFileError(
                f"{source}:{number}: {len(line)} characters in a line, at most {LONGEST_LINE} are read"
            )
        yield line


def _rows(text: str, source: str) -> Iterator[Row]:
    """Lines that are neither empty nor comments."""
    reader = csv.reader(_lines(text, source), delimiter=_delimiter(text), skipinitialspace=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells) and not cells[0].startswith("#"):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise MeterFileError(f"{source}:{reader.line_num}: {error}") from error


def _places(first: Sequence[str], columns: Columns, source: str) -> tuple[dict[str, int], bool]:
    """Index of each used column, and whether the first row is a header."""
    titles = [title.casefold() for title in first]
    places = {}
    for name, title in columns.used.items():
        if title.isdecimal() and 1 <= int(title) <= len(first):
            places[name] = int(title) - 1
        elif title.casefold() in titles:
            places[name] = titles.index(title.casefold())
        else:
            raise MeterFileError(
                f"{source}: no column {title!r} for {name}; the first line has: {', '.join(first)} (names, or numbers "
                "from 1, as time=...,power=...)"
            )
    named = any(not title.isdecimal() for title in columns.used.values())
    return places, named or not _is_data(first[places["time"]])


def _is_data(cell: str) -> bool:
    return _number(cell, True) is not None or STAMP.fullmatch(cell) is not None


def _number(cell: str, decimal_comma: bool) -> float | None:
    try:
        value = float(cell.replace(",", ".") if decimal_comma else cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class _Parser:
    """Rows of one file to times and watts."""

    def __init__(self, columns: Columns, places: dict[str, int], source: str, decimal_comma: bool) -> None:
        self._columns = columns
        self._places = places
        self._source = source
        self._decimal_comma = decimal_comma
        self._stamped: bool | None = None

    def row(self, number: int, cells: Sequence[str]) -> tuple[int, float]:
        """Nanoseconds and watts of one row."""
        if max(self._places.values()) >= len(cells):
            raise MeterFileError(
                f"{self._source}:{number}: {len(cells)} cells, {max(self._places.values()) + 1} needed"
            )
        t_ns = self._time(number, cells[self._places["time"]])
        values = [self._value(number, name, cells) for name in self._places if name != "time"]
        watts = math.prod(values)
        if not abs(watts) <= MOST_WATTS:
            raise MeterFileError(
                f"{self._source}:{number}: {watts:g} W, at most {MOST_WATTS:g} W are taken; check unit in the columns"
            )
        return t_ns, watts

    def _value(self, number: int, name: str, cells: Sequence[str]) -> float:
        cell = cells[self._places[name]]
        value = _number(cell, self._decimal_comma)
        if value is None:
            raise MeterFileError(f"{self._source}:{number}: {name} is {cell!r}, not a number")
        return value * self._columns.scale(name)

    def _time(self, number: int, cell: str) -> int:
        """Whether times are numbers or date stamps is decided by the first row and holds for all."""
        seconds = _number(cell, self._decimal_comma)
        if self._stamped is None:
            self._stamped = seconds is None
        if not self._stamped and seconds is not None:
            seconds *= self._columns.scale("time")
            if not abs(seconds) <= MOST_SECONDS:
                raise MeterFileError(
                    f"{self._source}:{number}: time is {cell!r}, beyond {MOST_SECONDS:g} s; "
                    "check time_unit in the columns"
                )
            return round(seconds * 1e9)
        stamp = _stamp_ns(cell) if self._stamped else None
        if stamp is None:
            kind = "a date stamp such as 2026-01-31T12:00:00.5" if self._stamped else "a number"
            raise MeterFileError(f"{self._source}:{number}: time is {cell!r}, not {kind}")
        return stamp


def _stamp_ns(cell: str) -> int | None:
    """Nanoseconds since 1970; without a zone, as if it were UTC: only differences matter."""
    match = STAMP.fullmatch(cell)
    if match is None:
        return None
    day, fraction, zone = match.groups()
    offset = "+00:00" if zone in (None, "Z") else zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
    try:
        moment = datetime.fromisoformat(f"{day}{offset}") - datetime(1970, 1, 1, tzinfo=timezone.utc)
    except ValueError:
        return None
    whole = (moment.days * 86_400 + moment.seconds) * 1_000_000_000
    return whole + int((fraction or "0").ljust(9, "0")[:9])
