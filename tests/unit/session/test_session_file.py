"""The session file: what is written by two sides is read back, and nothing else is accepted."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.errors import SessionError, SessionExists, SessionMissing, SessionUnreadable
from telemetry.model import Column, Gap, Marker, Stream
from telemetry.session import ChunkWriter, RunInfo, SessionLog, SessionReader

CU = Stream("cu", "xrt-cu", 1_000_000, (Column("status.a", "1", "state"), Column("usage.a", "1", "counter", 2**32)))
POWER = Stream("power.som", "hwmon-power", 10_000_000, (Column("watts", "W", "gauge"),), {"averaging_ns": "8800000"})


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return tmp_path / "a.kvs"


def integers(*values: int) -> array:
    return array("q", values)


def test_samples_and_gaps_of_the_recorder_are_read_back(session: Path) -> None:
    log = SessionLog.create(session)
    writer = ChunkWriter(session, [CU, POWER])
    writer.chunk("cu", integers(10, 20), integers(1, 2), [integers(4, 1), integers(7, 8)])
    writer.chunk("cu", integers(30), integers(3), [integers(6), integers(8)])
    writer.chunk("power.som", integers(15), integers(0), [array("d", [4.67])])
    writer.gap("cu", Gap(22, 25, "late", 3))
    writer.gap("cu", Gap(25, 28, "late", 3))
    writer.gap("cu", Gap(28, 29, "no such file", 1))
    writer.close()

    with SessionReader(session) as reader:
        cu = reader.series("cu")
        power = reader.series("power.som")
        streams = reader.streams()
    log.close()

    assert streams == [CU, POWER]
    assert cu.stream == CU
    assert cu.t_ns.tolist() == [10, 20, 30]
    assert cu.late_ns.tolist() == [1, 2, 3]
    assert {name: values.tolist() for name, values in cu.values.items()} == {
        "status.a": [4, 1, 6],
        "usage.a": [7, 8, 8],
    }
    assert cu.gaps == (Gap(22, 28, "late", 6), Gap(28, 29, "no such file", 1))
    assert power.values["watts"].tolist() == [4.67]
    assert [cu.values["usage.a"].dtype, power.values["watts"].dtype] == [np.int64, np.float64]


def test_runs_markers_and_executions_are_read_back(session: Path) -> None:
    log = SessionLog.create(session)
    log.put_meta("board", {"name": "kv260"})
    log.put_meta("board", {"name": "other"})
    first = log.start_run(RunInfo("a.xmodel", "smoke", 0, 1))
    log.end_run(first, "excluded", "no 100 % marker", {"fps": None})
    second = log.start_run(RunInfo("a.xmodel", "formal", 0, 2, {"threads": 1}))
    log.marker(None, Marker(5, "session"))
    log.marker(second, Marker(9, "100 %"))
    log.marker(second, Marker(7, "0 %"))
    log.executions(second, [1, 2], np.array([2, 3], np.int64))
    log.executions(second, np.array([3], np.int64), [4])
    log.executions(first, None, [8])
    log.observer_cost(100, 0.25)

    with SessionReader(session) as reader:
        runs = reader.runs()
        starts, ends = reader.executions(second)
        unknown, completions = reader.executions(first)
        markers = (reader.markers(second), reader.markers())
        cost = reader.observer_cost()
        meta = reader.meta()
    log.close()

    assert meta["board"] == {"name": "other"}
    assert [(run.status, run.reason, run.result) for run in runs] == [
        ("excluded", "no 100 % marker", {"fps": None}),
        (None, "the run is still in progress", None),
    ]
    assert runs[1].info == RunInfo("a.xmodel", "formal", 0, 2, {"threads": 1})
    assert runs[0].ended_ns is not None and runs[0].ended_ns >= runs[0].started_ns
    assert runs[1].ended_ns is None
    assert starts is not None and starts.tolist() == [1, 2, 3]
    assert ends.tolist() == [2, 3, 4]
    assert unknown is None and completions.tolist() == [8]
    assert markers == (
        [Marker(7, "0 %"), Marker(9, "100 %")],
        [Marker(5, "session"), Marker(7, "0 %"), Marker(9, "100 %")],
    )
    assert [values.tolist() for values in cost] == [[100], [0.25]]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=20), max_size=8), st.data())
def test_a_window_holds_exactly_the_samples_inside_it(steps: list[list[int]], data: st.DataObject) -> None:
    times: list[int] = []
    with TemporarySession() as path:
        log = SessionLog.create(path)
        writer = ChunkWriter(path, [CU])
        for chunk in steps:
            moments = integers(*np.cumsum([times[-1] if times else 0, *chunk])[1:].tolist())
            times += moments
            writer.chunk("cu", moments, moments, [moments, moments])
        writer.close()
        log.close()
        last = times[-1] if times else 0
        start = data.draw(st.integers(-1, last + 1))
        end = data.draw(st.integers(start, last + 1))

        with SessionReader(path) as reader:
            series = reader.series("cu", start, end)
            whole = reader.series("cu")

    assert whole.t_ns.tolist() == times
    assert series.t_ns.tolist() == [t for t in times if start <= t <= end]
    assert series.values["usage.a"].tolist() == series.t_ns.tolist()


class TemporarySession:
    """A fresh path per hypothesis example, which a function-scoped fixture cannot give."""

    def __enter__(self) -> Path:
        import tempfile

        self._folder = tempfile.TemporaryDirectory()
        return Path(self._folder.name) / "a.kvs"

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def test_closing_leaves_one_file_whoever_closes_last(tmp_path: Path) -> None:
    for name, log_first in (("a.kvs", True), ("b.kvs", False)):
        log = SessionLog.create(tmp_path / name)
        writer = ChunkWriter(tmp_path / name, [CU])
        writer.chunk("cu", integers(1), integers(1), [integers(1), integers(1)])
        first, second = (log, writer) if log_first else (writer, log)
        first.close()
        second.close()
        second.close()
        with SessionReader(tmp_path / name) as reader:
            assert reader.series("cu").t_ns.tolist() == [1]

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.kvs", "b.kvs"]


def test_an_existing_file_is_not_overwritten(session: Path) -> None:
    session.write_text("precious")
    with pytest.raises(SessionError, match=r"cannot create the session .*a\.kvs: .*exists"):
        SessionLog.create(session)

    assert session.read_text() == "precious"


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"cannot create the session .*/no/a\.kvs: ") as caught:
        SessionLog.create(tmp_path / "no" / "a.kvs")

    assert "\n" not in str(caught.value)


def test_a_missing_stream_is_refused_by_name(session: Path) -> None:
    SessionLog.create(session).close()
    with SessionReader(session) as reader, pytest.raises(SessionError, match="no stream 'cu'"):
        reader.series("cu")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 5000])
def test_a_foreign_file_is_refused(session: Path, content: bytes) -> None:
    session.write_bytes(content)
    with pytest.raises(SessionError, match="is not a session file"):
        SessionReader(session)


def test_another_sqlite_file_is_refused(session: Path) -> None:
    connection = sqlite3.connect(session)
    connection.execute("CREATE TABLE meta (key TEXT)")
    connection.close()
    with pytest.raises(SessionError, match="is not a session file"):
        SessionReader(session)
    with pytest.raises(SessionError, match="is not a session file"):
        ChunkWriter(session, [])


def test_a_newer_version_is_refused(session: Path) -> None:
    SessionLog.create(session).close()
    connection = sqlite3.connect(session)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(SessionError, match="has format 99"):
        SessionReader(session)


def filled(session: Path, chunks: int) -> Path:
    log = SessionLog.create(session)
    writer = ChunkWriter(session, [CU])
    rng = np.random.default_rng(1)
    for k in range(chunks):
        moments = array("q", (k * 1000 + np.arange(500)).tolist())
        noise = array("q", rng.integers(0, 2**62, 500).tolist())
        writer.chunk("cu", moments, noise, [noise, noise])
    writer.close()
    log.close()
    return session


@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_a_truncated_file_is_refused(session: Path, share: float) -> None:
    filled(session, 20)
    os.truncate(session, int(session.stat().st_size * share))
    with pytest.raises(SessionError, match=r"truncated|not a session file|cannot read"):
        SessionReader(session)


def test_a_damaged_chunk_is_one_error(session: Path) -> None:
    filled(session, 2)
    connection = sqlite3.connect(session)
    connection.execute("UPDATE chunk SET packed = substr(packed, 1, length(packed) / 2) WHERE id = 2")
    connection.commit()
    connection.close()
    with SessionReader(session) as reader, pytest.raises(SessionError, match="chunk"):
        reader.series("cu")


def test_a_session_on_a_read_only_medium_can_be_read(session: Path, tmp_path: Path) -> None:
    """As root no permission stands in the way, so only the file's mode and the absence of changes are checked."""
    filled(session, 2)
    copy = tmp_path / "frozen"
    copy.mkdir()
    shutil.copy(session, copy / "a.kvs")
    (copy / "a.kvs").chmod(0o444)
    copy.chmod(0o555)
    with SessionReader(copy / "a.kvs") as reader:
        assert len(reader.series("cu").t_ns) == 1000
    copy.chmod(0o755)

    assert [path.name for path in copy.iterdir()] == ["a.kvs"]


def test_two_writers_and_a_reader_share_a_live_file(session: Path) -> None:
    log = SessionLog.create(session)
    writer = ChunkWriter(session, [CU])
    with SessionReader(session) as reader:
        for k in range(20):
            with writer.transaction():
                writer.chunk("cu", integers(k), integers(0), [integers(4), integers(k)])
            log.marker(None, Marker(k, "tick"))
            assert reader.series("cu").t_ns.tolist() == list(range(k + 1))
            assert len(reader.markers()) == k + 1
    writer.close()
    log.close()


def test_what_is_not_there_is_told_from_what_cannot_be_read(session: Path) -> None:
    for path, text in ((session, "does not exist"), (session.parent, "is a folder")):
        for opener in (SessionReader, SessionLog.open):
            with pytest.raises(SessionMissing, match=text):
                opener(path)
    session.touch()
    with pytest.raises(SessionUnreadable, match="it is empty"):
        SessionReader(session)
    with pytest.raises(SessionExists, match="exists"):
        SessionLog.create(session)


def test_a_session_that_cannot_be_laid_out_leaves_no_file(session: Path) -> None:
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, old[1]))
    try:
        with pytest.raises(SessionError, match="cannot create the session") as caught:
            SessionLog.create(session)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert type(caught.value) is SessionError
    assert list(session.parent.iterdir()) == []


def test_a_run_in_progress_is_told_from_one_that_was_cut_short(session: Path) -> None:
    log = SessionLog.create(session)
    log.start_run(RunInfo("a.xmodel", "formal", 0, 0))
    with SessionReader(session) as reader:
        assert [run.reason for run in reader.runs()] == ["the run is still in progress"]
        writer = reader.meta()["writer"]
        for change in ({"start_ticks": writer["start_ticks"] - 1}, {"boot": "another"}, {"pid": 2**22 + 1}):
            log.put_meta("writer", {**writer, **change})
            assert [run.reason for run in reader.runs()] == ["the run was cut short"]
        log.put_meta("writer", {})
        assert [run.reason for run in reader.runs()] == ["the run was cut short"]
    log.close()
