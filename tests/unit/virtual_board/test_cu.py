"""The compute unit's files follow board facts 1.2 to 1.5 and the fake CU of 11.6."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from virtual_board.cu import ComputeUnit


@pytest.fixture
def unit(tmp_path: Path) -> ComputeUnit:
    return ComputeUnit(tmp_path, random.Random(3), lambda: 42)


def line(root: Path) -> str:
    return (root / "sys/class/drm/renderD128/device/kds_custat_raw").read_text()


def fields(root: Path) -> tuple[int, int]:
    """(status, usage)."""
    parts = line(root).rstrip("\n").split(",")
    assert parts[:4] == ["0", "0", "DPUCZDX8G:DPUCZDX8G_1", "0xa0010000"]
    assert len(parts) == 6
    return int(parts[4], 16), int(parts[5])


def test_a_run_goes_from_idle_through_running_and_done_back_to_idle(tmp_path: Path, unit: ComputeUnit) -> None:
    idle, before = fields(tmp_path)
    assert idle == 0x4
    assert unit.start() == 42
    assert fields(tmp_path) == (0x1, before + 1)
    unit.finish()
    done, after = fields(tmp_path)
    assert done in (0x6, 0xE)
    assert after == before + 1
    while unit.rest():
        assert fields(tmp_path)[0] == 0x0
    assert fields(tmp_path) == (0x4, before + 1)


def test_usage_counts_dispatches_and_stat_tells_completions(tmp_path: Path, unit: ComputeUnit) -> None:
    stat = tmp_path / "sys/bus/platform/devices/CU.2.auto/stat"
    usage = int(stat.read_text().split()[0])
    unit.start()
    assert stat.read_text().split() == [str(usage + 1), "1"]
    unit.finish()
    assert stat.read_text().split() == [str(usage + 1), "0"]


def test_the_line_keeps_its_length_through_many_runs(tmp_path: Path, unit: ComputeUnit) -> None:
    lengths, statuses = set(), set()
    for _ in range(600):
        unit.start()
        unit.finish()
        statuses.add(fields(tmp_path)[0])
        while unit.rest():
            statuses.add(fields(tmp_path)[0])
            lengths.add(len(line(tmp_path)))
        lengths.add(len(line(tmp_path)))
    assert len(lengths) == 1
    assert statuses == {0x6, 0xE, 0x0}


def test_a_firmware_reload_empties_the_line_and_renumbers_the_device(tmp_path: Path, unit: ComputeUnit) -> None:
    kept = (tmp_path / "sys/bus/platform/devices/CU.2.auto/stat").open()
    unit.unload()
    assert line(tmp_path) == ""
    assert kept.read() == ""
    kept.close()
    assert list((tmp_path / "sys/bus/platform/devices").iterdir()) == []
    unit.load()
    assert fields(tmp_path)[0] == 0x4
    assert [path.name for path in (tmp_path / "sys/bus/platform/devices").iterdir()] == ["CU.3.auto"]
    assert (tmp_path / "sys/bus/platform/devices/CU.3.auto/stat").read_text().endswith(" 0\n")


def test_a_crashed_unit_shows_all_ones_and_updates_no_more(tmp_path: Path, unit: ComputeUnit) -> None:
    unit.crash()
    assert line(tmp_path).split(",")[4] == "0xffffffff"
    assert unit.rest() is False
    assert line(tmp_path).split(",")[4] == "0xffffffff"
    unit.refresh()
    assert "Bad state:        1" in (tmp_path / "sys/bus/platform/devices/CU.2.auto/cu_stat").read_text()


def test_the_display_is_the_first_drm_card_and_has_no_compute_unit(tmp_path: Path, unit: ComputeUnit) -> None:
    assert not (tmp_path / "sys/class/drm/card0/device/kds_custat_raw").exists()
    assert (tmp_path / "sys/class/drm/card1/device/kds_custat_raw").exists()
    assert "XRT GIT BRANCH: 2022.1" in (tmp_path / "sys/class/drm/card1/device/kds_xrt_version").read_text()
