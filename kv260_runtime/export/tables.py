"""What an export holds, whatever its format: a table a stream, markers, executions, gaps, and a manifest with runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.profile.records import run_facts
from telemetry.model import Stream
from telemetry.session.reader import RunRecord, SessionReader
from telemetry.version import VERSION

SCHEMA_VERSION = 1
SAMPLES_AT_ONCE = 200_000
"""Streams are read in pieces of about this many samples, so that memory does not grow with the session."""

Values = npt.NDArray[Any]
Piece = list["Values | None"]
"""Some rows as columns; None for a column of which nothing is known in these rows."""


@dataclass(frozen=True)
class Field:
    """One column."""

    name: str
    unit: str
    """SI or UCUM; empty for text and identifiers."""
    kind: Literal["integer", "real", "text"]


@dataclass(frozen=True)
class Table:
    """Rows of one kind, read when asked for."""

    name: str
    fields: tuple[Field, ...]
    pieces: Callable[[], Iterator[Piece]]


def tables(source: SessionReader, names: Sequence[str]) -> list[Table]:
    """The named streams (all of them if none is named) and everything else that the session holds.

    Raises KvbenchError naming a stream that is not there.
    """
    streams = {stream.name: stream for stream in source.streams()}
    for name in names:
        if name not in streams:
            known = ", ".join(streams) or "none"
            raise KvbenchError(f"{source.path} has no stream {name!r}; it has: {known}", ExitCode.USAGE)
    chosen = list(names) or list(streams)
    return [
        *(_samples(source, streams[name]) for name in chosen),
        _gaps(source, chosen),
        _markers(source),
        _executions(source),
        _observer(source),
    ]


def runs(source: SessionReader) -> list[dict[str, Any]]:
    """One object a run, as the manifest and the tables of runs have it; unknown instants are None."""
    return [_run(record) for record in source.runs()]


def manifest(source: SessionReader, exported: Sequence[Table]) -> dict[str, Any]:
    """What the tables are about (schema: docs/schemas/export.schema.json)."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "kvbench export",
        "kvbench": VERSION,
        "session": str(source.path),
        "meta": source.meta(),
        "streams": [asdict(stream) for stream in source.streams()],
        "runs": runs(source),
        "tables": {table.name: [asdict(field) for field in table.fields] for table in exported},
    }


def _samples(source: SessionReader, stream: Stream) -> Table:
    columns = [Field(column.name, column.unit, "integer" if column.is_integer else "real") for column in stream.columns]
    fields = (Field("t_ns", "ns", "integer"), Field("late_ns", "ns", "integer"), *columns)

    def pieces() -> Iterator[Piece]:
        span = source.span()
        step_ns = SAMPLES_AT_ONCE * stream.period_ns
        for begin_ns in range(span.start_ns, span.end_ns + 1, step_ns) if span else ():
            series = source.series(stream.name, begin_ns, begin_ns + step_ns - 1)
            if series.t_ns.size:
                yield [series.t_ns, series.late_ns, *(series.values[column.name] for column in stream.columns)]

    return Table(stream.name, fields, pieces)


def _gaps(source: SessionReader, names: Sequence[str]) -> Table:
    fields = (
        Field("stream", "", "text"),
        Field("start_ns", "ns", "integer"),
        Field("end_ns", "ns", "integer"),
        Field("reason", "", "text"),
        Field("missed", "1", "integer"),
    )

    def pieces() -> Iterator[Piece]:
        for name in names:
            gaps = source.gaps(name)
            if gaps:
                whole = [np.array([getattr(gap, key) for gap in gaps], np.int64) for key in ("start_ns", "end_ns")]
                missed = np.array([gap.missed for gap in gaps], np.int64)
                yield [_texts([name] * len(gaps)), *whole, _texts([gap.reason for gap in gaps]), missed]

    return Table("gaps", fields, pieces)


def _markers(source: SessionReader) -> Table:
    fields = (Field("run", "", "integer"), Field("t_ns", "ns", "integer"), Field("name", "", "text"))

    def pieces() -> Iterator[Piece]:
        for record in source.runs():
            markers = source.markers(record.id)
            if markers:
                times = np.array([marker.t_ns for marker in markers], np.int64)
                yield [np.full(len(markers), record.id), times, _texts([marker.name for marker in markers])]

    return Table("markers", fields, pieces)


def _executions(source: SessionReader) -> Table:
    fields = (Field("run", "", "integer"), Field("start_ns", "ns", "integer"), Field("end_ns", "ns", "integer"))

    def pieces() -> Iterator[Piece]:
        for record in source.runs():
            started, ended = source.executions(record.id)
            if ended.size:
                yield [np.full(ended.size, record.id), started, ended]

    return Table("executions", fields, pieces)


def _observer(source: SessionReader) -> Table:
    fields = (Field("t_ns", "ns", "integer"), Field("cpu_seconds", "s", "real"))

    def pieces() -> Iterator[Piece]:
        t_ns, seconds = source.observer_cost()
        if t_ns.size:
            yield [t_ns, seconds]

    return Table("kvbench_cost", fields, pieces)


def _texts(values: list[str]) -> Values:
    return np.array(values, np.str_)


def _run(record: RunRecord) -> dict[str, Any]:
    facts = run_facts(record.id, record.result, None, np.empty(0, np.int64))
    return {
        "run": record.id,
        "model": record.info.model,
        "phase": record.info.phase,
        "index": record.info.index,
        "attempt": record.info.attempt,
        "kept": record.status == "kept",
        "reason": record.reason,
        "boundary": facts.boundary,
        "started_ns": record.started_ns,
        "ended_ns": record.ended_ns,
        "window_start_ns": None if facts.window is None else facts.window.start_ns,
        "window_end_ns": None if facts.window is None else facts.window.end_ns,
        "idle_ns": [[idle.start_ns, idle.end_ns] for idle in facts.idle],
        "executions": facts.executions,
        "seconds": facts.seconds,
    }
