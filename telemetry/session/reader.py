"""Reading a session: closed, still being written, or left behind by a kill."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from telemetry.errors import SessionError
from telemetry.model import Column, Float64Array, Gap, Int64Array, Marker, Series, Stream, Window
from telemetry.session import owner, schema
from telemetry.session.log import Phase, RunInfo
from telemetry.session.packing import typecode, unpack_integers, unpack_into

if TYPE_CHECKING:
    from collections.abc import Iterable

ALWAYS = (-(2**63), 2**63 - 1)
IN_PROGRESS = "the run is still in progress"
CUT_SHORT = "the run was cut short"
STATUS = 8
"""Its place in a row of runs."""


@dataclass(frozen=True)
class RunRecord:
    """One run as it went; `ended_ns` and `status` are None, and `reason` says which, if it goes on or was cut short."""

    id: int
    info: RunInfo
    started_ns: int
    ended_ns: int | None
    status: str | None
    reason: str | None
    result: Any


class SessionReader:
    """Everything a session file holds; each call sees what was committed when it began."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = schema.open_for_reading(path)

    @property
    def version(self) -> int:
        """The format's version (docs/session-format.md)."""
        return int(self._rows("PRAGMA user_version")[0][0])

    def meta(self) -> dict[str, Any]:
        """What describes the session, by key."""
        return {key: json.loads(value) for key, value in self._rows("SELECT key, value FROM meta")}

    def streams(self) -> list[Stream]:
        """The streams that were recorded."""
        rows = self._rows("SELECT name, kind, period_ns, columns, attributes FROM stream ORDER BY id")
        return [
            Stream(name, kind, period_ns, tuple(Column(**c) for c in json.loads(columns)), json.loads(attributes))
            for name, kind, period_ns, columns, attributes in rows
        ]

    def series(self, name: str, start_ns: int | None = None, end_ns: int | None = None) -> Series:
        """The samples of one stream with start_ns <= t <= end_ns, and the gaps that reach into that span.

        Raises SessionError if the session has no such stream or is damaged.
        """
        import numpy as np

        stream = next((stream for stream in self.streams() if stream.name == name), None)
        if stream is None:
            raise SessionError(f"{self.path} has no stream {name!r}; it has: {', '.join(self._names()) or 'none'}")
        first = ALWAYS[0] if start_ns is None else start_ns
        last = ALWAYS[1] if end_ns is None else end_ns
        chunks = self._rows(
            "WITH wanted AS (SELECT id FROM stream WHERE name = ?1)"
            " SELECT count, packed FROM chunk WHERE stream = (SELECT id FROM wanted)"
            " AND end_ns >= ?2 AND start_ns <= ?3 AND start_ns >= coalesce((SELECT max(start_ns) FROM chunk"
            " WHERE stream = (SELECT id FROM wanted) AND start_ns <= ?2), ?2) ORDER BY start_ns",
            (name, first, last),
        )
        total = sum(count for count, _ in chunks)
        outputs = [np.empty(total, np.int64), np.empty(total, np.int64)]
        outputs += [np.empty(total, np.int64 if typecode(c) == "q" else np.float64) for c in stream.columns]
        position = 0
        for count, packed in chunks:
            unpack_into(packed, count, outputs, position)
            position += count
        low, high = np.searchsorted(outputs[0], first, "left"), np.searchsorted(outputs[0], last, "right")
        t_ns, late_ns, *values = [output[low:high] for output in outputs]
        named = {column.name: array for column, array in zip(stream.columns, values, strict=True)}
        gaps = tuple(gap for gap in self.gaps(name) if gap.end_ns >= first and gap.start_ns <= last)
        return Series(stream, t_ns, late_ns, named, gaps)

    def span(self) -> Window | None:
        """From the first sample of any stream to the last; None if there is no sample."""
        first, last = self._rows("SELECT min(start_ns), max(end_ns) FROM chunk")[0]
        return None if first is None else Window(first, last)

    def gaps(self, name: str) -> list[Gap]:
        """The spans in which a stream has no samples, oldest first; adjoining ones with one reason as one."""
        rows = self._rows(
            "SELECT start_ns, end_ns, reason, missed FROM gap WHERE stream = (SELECT id FROM stream WHERE name = ?)"
            " ORDER BY start_ns, id",
            (name,),
        )
        return merged(Gap(*row) for row in rows)

    def runs(self) -> list[RunRecord]:
        """All runs in the order they were started."""
        rows = self._rows(
            "SELECT id, model, phase, position, attempt, attributes, started_ns, ended_ns, status, reason, result"
            " FROM run ORDER BY id"
        )
        unended = None
        if any(row[STATUS] is None for row in rows):
            unended = IN_PROGRESS if owner.lives(self.meta().get(owner.KEY, {})) else CUT_SHORT
        return [replace(run, reason=unended) if run.status is None else run for run in (_run(*row) for row in rows)]

    def markers(self, run_id: int | None = None) -> list[Marker]:
        """The markers of one run, or of the whole session, by time."""
        rows = self._rows("SELECT t_ns, name FROM marker WHERE ?1 IS NULL OR run = ?1 ORDER BY t_ns, id", (run_id,))
        return [Marker(*row) for row in rows]

    def executions(self, run_id: int) -> tuple[Int64Array | None, Int64Array]:
        """When each execution of a run began (None where unknown) and ended, shape (n,)."""
        import numpy as np

        rows = self._rows("SELECT count, started, ended FROM execution WHERE run = ? ORDER BY id", (run_id,))
        empty = np.empty(0, np.int64)
        ends = np.concatenate([empty, *(unpack_integers(ended, count) for count, _, ended in rows)])
        if not rows or any(started is None for _, started, _ in rows):
            return None, ends
        return np.concatenate([empty, *(unpack_integers(started, count) for count, started, _ in rows)]), ends

    def observer_cost(self, start_ns: int | None = None, end_ns: int | None = None) -> tuple[Int64Array, Float64Array]:
        """Instants in a span and the CPU seconds that the measuring program had used by then, shape (n,) each."""
        import numpy as np

        first, last = (edge if given is None else given for given, edge in zip((start_ns, end_ns), ALWAYS, strict=True))
        rows = self._rows(
            "SELECT t_ns, cpu_seconds FROM observer_cost WHERE t_ns BETWEEN ? AND ? ORDER BY t_ns", (first, last)
        )
        return np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)

    def close(self) -> None:
        """Let go of the file; idempotent."""
        self._connection.close()

    def __enter__(self) -> SessionReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _names(self) -> list[str]:
        return [stream.name for stream in self.streams()]

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with schema.one_line(self.path, "read"):
            return self._connection.execute(statement, values).fetchall()


def _run(
    run_id: int,
    model: str,
    phase: Phase,
    position: int,
    attempt: int,
    attributes: str,
    started_ns: int,
    ended_ns: int | None,
    status: str | None,
    reason: str | None,
    result: str | None,
) -> RunRecord:
    info = RunInfo(model, phase, position, attempt, json.loads(attributes))
    return RunRecord(run_id, info, started_ns, ended_ns, status, reason, json.loads(result or "null"))


def merged(gaps: Iterable[Gap]) -> list[Gap]:
    """Gaps in order, those that touch and share a reason joined; a chunk's end may have split them."""
    result: list[Gap] = []
    for gap in gaps:
        if result and result[-1].end_ns == gap.start_ns and result[-1].reason == gap.reason:
            before = result.pop()
            gap = Gap(before.start_ns, gap.end_ns, gap.reason, before.missed + gap.missed)
        result.append(gap)
    return result
