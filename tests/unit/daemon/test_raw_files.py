"""Raw samples outlive restarts: earlier files get numbers, the oldest make room, and nobody else's file is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemetry.errors import CannotCreate
from telemetry.service.raw_files import fresh
from telemetry.session import SessionLog, SessionReader


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return tmp_path / "raw.kvs"


def _start(raw: Path, label: str, earlier_bytes: int | None = 10**9) -> None:
    """A recorder's file, with something to know it by."""
    log = fresh(raw, earlier_bytes)
    log.put_meta("label", label)
    log.close()


def _labels(raw: Path) -> dict[str, str]:
    found = {}
    for path in sorted(raw.parent.iterdir()):
        with SessionReader(path) as reader:
            found[path.name] = reader.meta()["label"]
    return found


def test_each_start_keeps_all_that_was_recorded_before(raw: Path) -> None:
    for label in "abc":
        _start(raw, label)
    assert _labels(raw) == {"raw.kvs": "c", "raw.kvs.1": "a", "raw.kvs.2": "b"}


def test_the_oldest_beyond_the_bound_are_deleted_and_numbers_go_on(raw: Path) -> None:
    _start(raw, "a")
    for label in "bcde":
        _start(raw, label, 2 * raw.stat().st_size)
    assert _labels(raw) == {"raw.kvs": "e", "raw.kvs.3": "c", "raw.kvs.4": "d"}


def test_what_a_killed_service_left_in_its_log_is_kept(raw: Path, tmp_path: Path) -> None:
    killed = fresh(raw, None)
    killed.put_meta("label", "a")
    for suffix in ("", "-wal"):
        (tmp_path / f"copy{suffix}").write_bytes(Path(f"{raw}{suffix}").read_bytes())
    killed.discard()
    for suffix in ("", "-wal"):
        (tmp_path / f"copy{suffix}").rename(f"{raw}{suffix}")
    _start(raw, "b")
    assert _labels(raw) == {"raw.kvs": "b", "raw.kvs.1": "a"}


def test_a_file_that_is_no_session_is_refused_and_kept(raw: Path) -> None:
    raw.write_text("mine")
    with pytest.raises(CannotCreate, match=r"raw\.kvs: is there already and no raw file of kv260-telemetry"):
        fresh(raw, None)
    assert [path.name for path in raw.parent.iterdir()] == ["raw.kvs"]
    assert raw.read_text() == "mine"


def test_the_session_of_a_profile_is_refused_and_kept(raw: Path) -> None:
    SessionLog.create(raw).close()
    with pytest.raises(CannotCreate, match="no raw file of kv260-telemetry"):
        fresh(raw, None)
    assert [path.name for path in raw.parent.iterdir()] == ["raw.kvs"]


def test_other_files_with_a_number_are_neither_overwritten_nor_deleted(raw: Path) -> None:
    raw.with_name("raw.kvs.7").write_text("mine")
    raw.with_name("raw.kvs.previous").write_text("mine too")
    _start(raw, "a")
    _start(raw, "b")
    assert raw.with_name("raw.kvs.8").exists()
    _start(raw, "c", 0)
    assert not raw.with_name("raw.kvs.8").exists()
    assert raw.with_name("raw.kvs.7").read_text() == "mine"
    assert raw.with_name("raw.kvs.previous").read_text() == "mine too"


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(CannotCreate, match=f"no folder {tmp_path / 'typo'};"):
        fresh(tmp_path / "typo" / "raw.kvs", None)
    assert not (tmp_path / "typo").exists()
