"""The recorder's side of the session file: chunks of packed samples, and gaps."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from telemetry.model import Gap, Stream
from telemetry.session import schema
from telemetry.session.packing import pack


class ChunkWriter:
    """Adds samples to a session that another process created."""

    def __init__(self, path: Path, streams: Iterable[Stream]) -> None:
        self._path = path
        self._ids: dict[str, int] = {}
        self._connection = schema.open_for_writing(path)
        for stream in streams:
            self.add_stream(stream)

    def add_stream(self, stream: Stream) -> None:
        """Make a stream known; its name must be new to the session."""
        with schema.one_line(self._path, "write"):
            cursor = self._connection.execute(
                "INSERT INTO stream (name, kind, period_ns, columns, attributes) VALUES (?, ?, ?, ?, ?)",
                (
                    stream.name,
                    stream.kind,
                    stream.period_ns,
                    json.dumps([asdict(column) for column in stream.columns]),
                    json.dumps(dict(stream.attributes)),
                ),
            )
            self._ids[stream.name] = int(cursor.lastrowid or 0)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is written inside at once: one write to the log for all streams."""
        with schema.one_line(self._path, "write"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def chunk(self, stream: str, t_ns: array[int], late_ns: array[int], columns: Sequence[array[Any]]) -> None:
        """Add samples of one stream, oldest first and later than all before them; at least one."""
        packed = pack([t_ns, late_ns, *columns])
        with schema.one_line(self._path, "write"):
            self._connection.execute(
                "INSERT INTO chunk (stream, start_ns, end_ns, count, packed) VALUES (?, ?, ?, ?, ?)",
                (self._ids[stream], t_ns[0], t_ns[-1], len(t_ns), packed),
            )

    def gap(self, stream: str, gap: Gap) -> None:
        """Add a span without samples."""
        with schema.one_line(self._path, "write"):
            self._connection.execute(
                "INSERT INTO gap (stream, start_ns, end_ns, reason, missed) VALUES (?, ?, ?, ?, ?)",
                (self._ids[stream], gap.start_ns, gap.end_ns, gap.reason, gap.missed),
            )

    def close(self) -> None:
        """Let go of the file; idempotent."""
        with schema.one_line(self._path, "close"):
            schema.close(self._connection)
