"""A recorder's file access meets errors only where and while the board says so."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from virtual_board.faulty_files import BUSY, GONE, Control, open_files


@pytest.fixture
def board(tmp_path: Path) -> Path:
    chip = tmp_path / "root/sys/class/hwmon/hwmon1"
    chip.mkdir(parents=True)
    (chip / "power1_input").write_text("4830000\n")
    (tmp_path / "root/proc").mkdir()
    (tmp_path / "root/proc/stat").write_text("cpu\n")
    return tmp_path


def errno_of(read: object) -> int | None:
    try:
        read()  # type: ignore[operator]
    except OSError as error:
        return error.errno
    return None


def test_a_storm_answers_one_read_of_ten(board: Path) -> None:
    control, files = Control(board), open_files()
    power = files.open(board / "root/sys/class/hwmon/hwmon1/power1_input")
    assert power.read() == b"4830000\n"
    control.set(BUSY, True)
    assert [errno_of(power.read) for _ in range(20)] == ([errno.EBUSY] * 9 + [None]) * 2
    control.set(BUSY, False)
    assert errno_of(power.read) is None
    power.close()


def test_a_gone_device_answers_enodev_through_a_kept_descriptor(board: Path) -> None:
    control, files = Control(board), open_files()
    power = files.open(board / "root/sys/class/hwmon/hwmon1/power1_input")
    control.set(GONE, True)
    assert errno_of(power.read) == errno.ENODEV
    power.close()


def test_other_files_are_left_alone(board: Path) -> None:
    control, files = Control(board), open_files()
    control.set(BUSY, True)
    control.set(GONE, True)
    assert files.read(board / "root/proc/stat") == b"cpu\n"
    assert files.names(board / "root/proc") == ["stat"]


def test_registers_are_locked_against_another_mapping(board: Path) -> None:
    page = board / "root/dev"
    page.write_bytes(bytes(4096))
    files = open_files()
    registers = files.map_registers(page, 4096)
    registers.write32(0x300, 0x10001)
    assert registers.read32(0x300) == 0x10001
    with pytest.raises(BlockingIOError):
        files.map_registers(page, 4096)
    registers.close()
    files.map_registers(page, 4096).close()
