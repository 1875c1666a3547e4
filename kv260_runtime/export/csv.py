"""Raw samples as a folder of CSV files, units in their headers, with a JSON manifest beside them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from kv260_runtime.export.folder import new_folder
from kv260_runtime.export.tables import Field, Piece, Table, manifest, runs, tables
from telemetry.session.reader import SessionReader

MANIFEST = "session.json"


def write(source: SessionReader, names: Sequence[str], out: Path) -> None:
    """Create folder `out` with a file a table. Numbers are exact: floats have every digit they need."""
    exported = tables(source, names)
    with new_folder(out):
        for table in exported:
            with (out / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as stream:
                _write_table(stream, table)
        with (out / "runs.csv").open("w", encoding="utf-8", newline="") as stream:
            _write_runs(stream, runs(source))
        (out / MANIFEST).write_text(json.dumps(manifest(source, exported), indent=2, ensure_ascii=False) + "\n")


def _heading(field: Field) -> str:
    return f"{field.name} [{field.unit}]" if field.unit else field.name


def _write_table(stream: TextIO, table: Table) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(_heading, table.fields))
    for piece in table.pieces():
        writer.writerows(_rows(piece))


def _rows(piece: Piece) -> Iterable[tuple[Any, ...]]:
    length = next(column.size for column in piece if column is not None)
    return zip(*([""] * length if column is None else column.tolist() for column in piece), strict=True)


def _write_runs(stream: TextIO, rows: list[dict[str, Any]]) -> None:
    """The flat part of what the manifest says of each run; a session without runs leaves an empty file."""
    names = [name for name in rows[0] if name != "idle_ns"] if rows else []
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([names] if names else [])
    writer.writerows(["" if row[name] is None else row[name] for name in names] for row in rows)
