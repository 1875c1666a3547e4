"""Tables of the session file, and how each side opens it; docs/session-format.md is their description."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from telemetry.errors import SessionError, SessionExists, SessionMissing, SessionUnreadable

VERSION = 1
APPLICATION_ID = 0x6B766265
"""`kvbe` in ASCII, in the file's header, by which a session is told from any other SQLite file."""
BUSY_SECONDS = 5.0
"""How long one writer waits for the other; a commit takes milliseconds."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE stream (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, period_ns INTEGER NOT NULL,
    columns TEXT NOT NULL, attributes TEXT NOT NULL);
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
    count INTEGER NOT NULL, packed BLOB NOT NULL);
CREATE INDEX chunk_by_time ON chunk (stream, start_ns);
CREATE TABLE gap (
    id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
    reason TEXT NOT NULL, missed INTEGER NOT NULL);
CREATE TABLE run (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, phase TEXT NOT NULL, position INTEGER NOT NULL,
    attempt INTEGER NOT NULL, attributes TEXT NOT NULL, started_ns INTEGER NOT NULL, ended_ns INTEGER,
    status TEXT, reason TEXT, result TEXT);
CREATE TABLE marker (id INTEGER PRIMARY KEY, run INTEGER, t_ns INTEGER NOT NULL, name TEXT NOT NULL);
CREATE TABLE execution (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, count INTEGER NOT NULL, started BLOB, ended BLOB NOT NULL);
CREATE TABLE observer_cost (t_ns INTEGER NOT NULL, cpu_seconds REAL NOT NULL);
"""


@contextmanager
def one_line(path: Path, doing: str) -> Iterator[None]:
    """Turn what SQLite or the file system raises into one SessionError that names the file."""
    try:
        yield
    except SessionError:
        raise
    except sqlite3.DatabaseError as error:
        damaged = not isinstance(error, sqlite3.OperationalError)
        kind = SessionUnreadable if damaged else SessionError
        raise kind(f"cannot {doing} the session {path}: {error}") from error
    except (sqlite3.Error, OSError) as error:
        raise SessionError(f"cannot {doing} the session {path}: {error}") from error


def create(path: Path) -> sqlite3.Connection:
    """Create an empty session and return a connection that may write it; an existing file is not overwritten."""
    try:
        path.open("xb").close()
    except OSError as error:
        raise SessionExists(f"cannot create the session {path}: {error.strerror or error}") from error
    try:
        return _laid_out(path)
    except BaseException:
        remove(path)
        raise


def _laid_out(path: Path) -> sqlite3.Connection:
    with one_line(path, "create"), ExitStack() as undo:
        connection = _connect(path, "rw")
        undo.callback(connection.close)
        connection.execute("PRAGMA journal_mode=WAL")
        _settle(connection)
        connection.executescript(
            f"BEGIN; {TABLES} PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION}; COMMIT;"
        )
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        undo.pop_all()
        return connection


def remove(path: Path) -> None:
    """Delete a session that nobody has open, with what SQLite laid beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(f"{path}{suffix}").unlink()


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open a session to add to it; the other process may be writing too."""
    with one_line(path, "write"):
        _need_file(path)
        return _open(path, "rw")


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a session without changing it, whether it is closed, still being written, or left behind by a kill."""
    with one_line(path, "read"):
        _need_file(path)
        try:
            return _open(path, "ro")
        except sqlite3.OperationalError:
            if log_bytes(path):
                raise
            # A file on a read-only medium: SQLite cannot lay its lock file beside it, and needs none.
            return _open(path, "ro&immutable=1")


def close(connection: sqlite3.Connection) -> None:
    """Close, and if this is the last connection fold the log in, so that one file is left; idempotent."""
    try:
        # Without this a later reader would lay two lock files beside the session and leave them there.
        connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.ProgrammingError:
        return
    except sqlite3.OperationalError:
        pass  # Another connection is open: the last one to close folds the log in.
    connection.close()


def fold_log(path: Path) -> None:
    """Copy what the write-ahead log holds into the file, beside writers that go on writing."""
    with one_line(path, "fold the log of"):
        connection = _open(path, "rw")
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            connection.close()


def log_bytes(path: Path) -> int:
    """Size of the write-ahead log beside a session."""
    try:
        return os.stat(f"{path}-wal").st_size  # noqa: PTH116 - after each commit, and a Path costs ten times the call
    except FileNotFoundError:
        return 0


def _need_file(path: Path) -> None:
    """SessionMissing if there is nothing to open, which SQLite would only call `unable to open database file`."""
    if path.is_dir():
        raise SessionMissing(f"no session {path}: it is a folder; name a session file in it")
    if not path.exists():
        raise SessionMissing(f"no session {path}: the file does not exist")
    if not path.is_file():
        raise SessionMissing(f"no session {path}: it is not a regular file")
    if not os.access(path, os.R_OK):
        raise SessionMissing(f"cannot read the session {path}: permission denied")


def _open(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connect(path, mode)
    try:
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a whole session of a version this program knows."""
    try:
        _settle(connection)
        application, version, pages, page_bytes = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version", "page_count", "page_size")
        )
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise SessionUnreadable(f"{path} is not a session file ({error})") from error
    if path.stat().st_size == 0 and not log_bytes(path):
        raise SessionUnreadable(f"{path} is not a session file (it is empty)")
    if application != APPLICATION_ID:
        raise SessionUnreadable(f"{path} is not a session file (application id {application:#x})")
    if version > VERSION:
        raise SessionUnreadable(
            f"{path} has format {version}, this kvbench reads up to {VERSION}: install a newer kvbench"
        )
    if path.stat().st_size < pages * page_bytes and not log_bytes(path):
        raise SessionUnreadable(f"{path} is truncated: {path.stat().st_size} of {pages * page_bytes} bytes")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _settle(connection: sqlite3.Connection) -> None:
    """Make a commit one write to the log and no fsync: a kill loses nothing by it, a power cut only the latest commits.

    Folding the log into the file does sync, so nobody who commits does it in passing.
    """
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    # A log that was folded shrinks at the next commit, so that its size tells how much is to be folded.
    connection.execute("PRAGMA journal_size_limit=0")
