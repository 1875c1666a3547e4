"""docs/session-format.md is true: its snippet runs, its tables are the file's."""

from __future__ import annotations

import re
import sqlite3
from array import array
from pathlib import Path
from typing import Any

from telemetry.model import Column, Stream
from telemetry.recorder import COMMIT_NS
from telemetry.session import ChunkWriter, SessionLog, schema
from telemetry.session.writer import LOG_BYTES

POWER = Stream("power.som", "hwmon-power", 10_000_000, (Column("watts", "W", "gauge"),))


def test_the_snippet_unpacks_a_session(repository: Path, tmp_path: Path, monkeypatch) -> None:
    page = (repository / "docs/session-format.md").read_text()
    [snippet] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    log = SessionLog.create(Path("session.kvs"))
    writer = ChunkWriter(Path("session.kvs"), [POWER])
    writer.chunk("power.som", array("q", [5, 6]), array("q", [0, 1]), [array("d", [4.67, 4.68])])
    writer.close()
    log.close()
    names: dict[str, Any] = {}
    exec(snippet, names)
    names["session"].close()

    assert names["t_ns"].tolist() == [5, 6]
    assert names["watts"].tolist() == [4.67, 4.68]


def test_the_page_lists_every_table_and_column(repository: Path, tmp_path: Path) -> None:
    page = (repository / "docs/session-format.md").read_text()
    connection = schema.create(tmp_path / "a.kvs")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    documented = {}
    for table in tables:
        [row] = re.findall(rf"^\| `{table}` \| (.*) \|$", page, re.MULTILINE)
        documented[table] = set(re.findall(r"`(\w+)`", row))
    stored = {table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")} for table in tables}
    connection.close()

    assert {table: stored[table] - documented[table] for table in tables} == {table: set() for table in tables}


def test_the_page_states_the_constants(repository: Path) -> None:
    page = (repository / "docs/session-format.md").read_text()

    assert f"The recorder commits every {COMMIT_NS / 1e9:.2f} s" in page
    assert f"when it is longer than {LOG_BYTES / 1e6:.0f} MB" in page
    assert f"application_id` is 0x{schema.APPLICATION_ID:X}" in page
    assert f"# The session file, version {schema.VERSION}\n" in page


def test_a_plain_sqlite_client_reads_runs(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "a.kvs")
    log.put_meta("board", "kv260")
    log.close()
    connection = sqlite3.connect(tmp_path / "a.kvs")
    rows = dict(connection.execute("SELECT key, value FROM meta"))
    connection.close()

    assert rows["board"] == '"kv260"'
