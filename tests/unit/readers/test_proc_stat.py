"""CPU time per core."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import SystemFiles
from telemetry.readers import open_kind
from telemetry.readers.proc_stat import ProcStatReader, parse_cores
from tests.unit.readers.trees import STAT, FaultyFiles, write

TICKS = st.integers(0, 10**12)


@given(st.lists(st.lists(TICKS, min_size=8, max_size=10), min_size=1, max_size=64))
def test_busy_is_all_but_idle_and_iowait_and_guests_count_once(cores: list[list[int]]) -> None:
    lines = [f"cpu{i} {' '.join(map(str, ticks))}\n" for i, ticks in enumerate(cores)]
    text = "".join(["cpu  1 2 3\n", *lines, "intr 5\n"])
    for i, (user, nice, system, idle, iowait, irq, softirq, steal, *_guests) in enumerate(cores):
        busy, total = parse_cores(text.encode())[f"cpu{i}"]
        assert busy == user + nice + system + irq + softirq + steal
        assert total == busy + idle + iowait


@given(st.binary(max_size=100))
def test_any_bytes_are_cores_or_garbage(data: bytes) -> None:
    try:
        cores = parse_cores(data)
    except ReadGap as caught:
        assert caught.reason == "garbage"
    else:
        assert cores


def test_seconds_come_from_ticks(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/stat": STAT})
    reader = ProcStatReader(SystemFiles(), root / "proc/stat", ticks_per_second=100)
    assert [column.name for column in reader.columns] == ["busy.cpu0", "total.cpu0", "busy.cpu1", "total.cpu1"]
    assert {column.unit for column in reader.columns} == {"s"}
    assert reader.read() == pytest.approx((6.2, 107.2, 9.3, 111.3))


def test_total_does_not_step_back_with_iowait(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/stat": STAT})
    reader = ProcStatReader(SystemFiles(), root / "proc/stat", 100)
    before = reader.read()
    write(root, {"proc/stat": STAT.replace("10000 100 2", "10000 097 2")})
    assert reader.read() == before


def test_a_core_that_went_offline_is_a_gap_until_it_is_back(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/stat": STAT})
    reader = ProcStatReader(SystemFiles(), root / "proc/stat", 100)
    write(root, {"proc/stat": "".join(line for line in STAT.splitlines(True) if not line.startswith("cpu1"))})
    with pytest.raises(ReadGap, match="core offline"):
        reader.read()
    write(root, {"proc/stat": STAT})
    assert len(reader.read()) == 4


@pytest.mark.parametrize(
    "text", [b"cpu  1 2\ncpu0 1 2 3\n", b"cpu0 a b c d e f g h\n", b"intr 1\n", b"cpu0 1 2 3 4 5 6 7 8"]
)
def test_garbage_is_a_gap(tmp_path: Path, text: bytes) -> None:
    root = write(tmp_path, {"proc/stat": STAT})
    files = FaultyFiles()
    reader = ProcStatReader(files, root / "proc/stat", 100)
    files.script("stat", [text])
    with pytest.raises(ReadGap, match="garbage"):
        reader.read()
    assert len(reader.read()) == 4


def test_many_cores_fit_one_read(tmp_path: Path) -> None:
    line = "9" * 16
    text = "cpu 0\n" + "".join(f"cpu{i} {' '.join([line] * 10)}\n" for i in range(256)) + "intr 1\n"
    root = write(tmp_path, {"proc/stat": text})
    reader = ProcStatReader(SystemFiles(), root / "proc/stat", 100)
    assert len(reader.read()) == 512


def test_this_machine_counts_its_own_cores() -> None:
    [(name, reader)] = open_kind("proc-stat", SystemFiles(), Path("/"), {})
    assert name == "cpu"
    first, second = reader.read(), reader.read()
    reader.close()
    assert all(b >= a > 0 for a, b in zip(first, second, strict=True))


def test_a_root_without_proc_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(SensorNotFound, match="proc/stat"):
        open_kind("proc-stat", SystemFiles(), tmp_path, {})
