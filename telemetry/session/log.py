"""The measuring program's side of the session file: runs, markers, executions and whatever describes the session."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from telemetry.clock import Clock, SystemClock, wall_time_ns
from telemetry.errors import SessionError
from telemetry.model import Int64Array, Marker
from telemetry.session import owner, schema
from telemetry.session.packing import pack_integers

Phase = Literal["smoke", "formal"]
Status = Literal["kept", "excluded"]


@dataclass(frozen=True)
class RunInfo:
    """One run as it was planned: the `attempt`-th try at place `index` of `model`'s runs in `phase`."""

    model: str
    phase: Phase
    index: int
    attempt: int
    attributes: Mapping[str, Any] = field(default_factory=dict)


class SessionLog:
    """Adds runs and markers to a session while a recorder adds samples."""

    def __init__(self, path: Path, connection: sqlite3.Connection, clock: Clock) -> None:
        self.path = path
        self._connection = connection
        self._clock = clock

    @classmethod
    def create(cls, path: Path, clock: Clock | None = None) -> SessionLog:
        """Create the file, whole or not at all; SessionExists if it cannot be there, SessionError if unwritable."""
        log = cls(path, schema.create(path), clock or SystemClock())
        try:
            log.put_meta(owner.KEY, owner.this_process())
            log.put_meta("created", {"wall_ns": wall_time_ns(), "monotonic_ns": log._clock.now_ns()})
        except SessionError:
            log.discard()
            raise
        return log

    @classmethod
    def open(cls, path: Path, clock: Clock | None = None) -> SessionLog:
        """Open an existing session to add to it."""
        return cls(path, schema.open_for_writing(path), clock or SystemClock())

    def put_meta(self, key: str, value: Any) -> None:  # noqa: ANN401  any value JSON can hold
        """Store or replace one JSON value that describes the session."""
        self._write("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, json.dumps(value)))

    def start_run(self, info: RunInfo) -> int:
        """Begin a run now and return its id."""
        cursor = self._write(
            "INSERT INTO run (model, phase, position, attempt, attributes, started_ns) VALUES (?, ?, ?, ?, ?, ?)",
            (
                info.model,
                info.phase,
                info.index,
                info.attempt,
                json.dumps(dict(info.attributes)),
                self._clock.now_ns(),
            ),
        )
        return int(cursor.lastrowid or 0)

    def end_run(self, run_id: int, status: Status, reason: str | None = None, result: Any = None) -> None:  # noqa: ANN401
        """End a run now: whether its figures count, if not why, and what the workload itself reported (JSON)."""
        self._write(
            "UPDATE run SET ended_ns = ?, status = ?, reason = ?, result = ? WHERE id = ?",
            (self._clock.now_ns(), status, reason, json.dumps(result), run_id),
        )

    def marker(self, run_id: int | None, marker: Marker) -> None:
        """Add a named instant, of a run or of the session."""
        self._write("INSERT INTO marker (run, t_ns, name) VALUES (?, ?, ?)", (run_id, marker.t_ns, marker.name))

    def executions(
        self, run_id: int, start_ns: Sequence[int] | Int64Array | None, end_ns: Sequence[int] | Int64Array
    ) -> None:
        """Add executions of a run in order of completion; may be called again with later ones.

        `start_ns` is None where only completions are known. Raises SessionError if the two differ in length.
        """
        if start_ns is not None and len(start_ns) != len(end_ns):
            raise SessionError(f"run {run_id}: {len(start_ns)} starts but {len(end_ns)} ends of executions")
        if len(end_ns) == 0:
            return
        started = None if start_ns is None else pack_integers(start_ns)
        self._write(
            "INSERT INTO execution (run, count, started, ended) VALUES (?, ?, ?, ?)",
            (run_id, len(end_ns), started, pack_integers(end_ns)),
        )

    def observer_cost(self, t_ns: int, cpu_seconds: float) -> None:
        """Note how much CPU time the measuring program itself has used up to an instant."""
        self._write("INSERT INTO observer_cost (t_ns, cpu_seconds) VALUES (?, ?)", (t_ns, cpu_seconds))

    def close(self) -> None:
        """Let go of the file; the last of its users to close leaves one file; idempotent."""
        with schema.one_line(self.path, "close"):
            schema.close(self._connection)

    def discard(self) -> None:
        """Close and delete the session, which nobody else may have open."""
        self._connection.close()
        schema.remove(self.path)

    def _write(self, statement: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        with schema.one_line(self.path, "write"):
            return self._connection.execute(statement, values)
