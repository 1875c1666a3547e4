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

LOG_BYTES = 4_000_000
"""A longer write-ahead log is to be folded into the file; about a minute of a KV260's samples."""
DROPPED_AT_ONCE = 16


class ChunkWriter:
    """Adds samples to a session that another process created.

    With `ring_bytes` the oldest samples make room for new ones, so that file and log together stay below that size.
    """

    def __init__(self, path: Path, streams: Iterable[Stream], ring_bytes: int | None = None) -> None:
        self._path = path
        self._streams: dict[str, Stream] = {}
        self._ids: dict[str, int] = {}
        self._last_gaps: dict[str, tuple[int, Gap]] = {}
        self._log_bytes = LOG_BYTES if ring_bytes is None else min(LOG_BYTES, ring_bytes // 8)
        # A log that is being folded goes on growing, to at most twice its length and one commit.
        self._ring_bytes = None if ring_bytes is None else ring_bytes - 3 * self._log_bytes
        self._connection = schema.open_for_writing(path)
        for stream in streams:
            self.add_stream(stream)
            self._id(stream.name)

    @property
    def log_is_long(self) -> bool:
        """Whether it is time for `schema.fold_log`, which may take as long as an fsync."""
        return schema.log_bytes(self._path) > self._log_bytes

    def add_stream(self, stream: Stream) -> None:
        """Make a stream known, with its first sample or gap at the latest; its name must be new to the session."""
        self._streams[stream.name] = stream

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is written inside at once: one write to the log for all streams."""
        known = dict(self._ids)
        if self._ring_bytes is not None and schema.log_bytes(self._path) > 2 * self._log_bytes:
            schema.fold_log(self._path)
        with schema.one_line(self._path, "write"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._make_room()
                self._connection.execute("COMMIT")
            except BaseException:
                self._ids = known
                self._last_gaps.clear()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def chunk(self, stream: str, t_ns: array[int], late_ns: array[int], columns: Sequence[array[Any]]) -> None:
        """Add samples of one stream, oldest first and later than all before them; at least one."""
        packed = pack([t_ns, late_ns, *columns])
        with schema.one_line(self._path, "write"):
            self._connection.execute(
                "INSERT INTO chunk (stream, start_ns, end_ns, count, packed) VALUES (?, ?, ?, ?, ?)",
                (self._id(stream), t_ns[0], t_ns[-1], len(t_ns), packed),
            )

    def gap(self, stream: str, gap: Gap) -> None:
        """Add a span without samples, or lengthen the last one if this goes on where that ended."""
        row, last = self._last_gaps.get(stream, (None, gap))
        with schema.one_line(self._path, "write"):
            if row is not None and last.end_ns == gap.start_ns and last.reason == gap.reason:
                gap = Gap(last.start_ns, gap.end_ns, gap.reason, last.missed + gap.missed)
                self._connection.execute(
                    "UPDATE gap SET end_ns = ?, missed = ? WHERE id = ?", (gap.end_ns, gap.missed, row)
                )
            else:
                row = self._connection.execute(
                    "INSERT INTO gap (stream, start_ns, end_ns, reason, missed) VALUES (?, ?, ?, ?, ?)",
                    (self._id(stream), gap.start_ns, gap.end_ns, gap.reason, gap.missed),
                ).lastrowid
        self._last_gaps[stream] = (int(row or 0), gap)

    def close(self) -> None:
        """Let go of the file; idempotent."""
        with schema.one_line(self._path, "close"):
            schema.close(self._connection)

    def _id(self, name: str) -> int:
        """The row of a stream, written if this is its first use."""
        if name not in self._ids:
            stream = self._streams[name]
            columns = json.dumps([asdict(column) for column in stream.columns])
            with schema.one_line(self._path, "write"):
                cursor = self._connection.execute(
                    "INSERT INTO stream (name, kind, period_ns, columns, attributes) VALUES (?, ?, ?, ?, ?)",
                    (name, stream.kind, stream.period_ns, columns, json.dumps(dict(stream.attributes))),
                )
            self._ids[name] = int(cursor.lastrowid or 0)
        return self._ids[name]

    def _make_room(self) -> None:
        """Drop the oldest chunks of a ring, and gaps older than all that is left; SQLite uses their pages again."""
        while self._ring_bytes is not None and self._used_bytes() > self._ring_bytes:
            dropped = self._connection.execute(
                "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk ORDER BY id LIMIT ?)", (DROPPED_AT_ONCE,)
            )
            self._connection.execute("DELETE FROM gap WHERE end_ns < (SELECT min(start_ns) FROM chunk)")
            self._last_gaps.clear()
            if not dropped.rowcount:
                return

    def _used_bytes(self) -> int:
        pages, free, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)
