"""The one object through which sensor files are reached."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import ConfigError, SensorNotFound
from telemetry.files import MappedRegisters, SystemFiles, load_files

PAGE = 4096


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A regular file that stands for a UIO node."""
    path = tmp_path / "uio1"
    path.write_bytes(bytes(PAGE))
    return path


def test_a_kept_open_file_is_read_anew_from_its_start_each_time(tmp_path: Path) -> None:
    path = tmp_path / "power1_input"
    path.write_text("4670000\n")
    file = SystemFiles().open(path)
    assert file.read() == b"4670000\n"
    with path.open("r+") as writer:
        writer.write("4680000\n")
    assert file.read() == b"4680000\n"
    assert file.read(3) == b"468"
    file.close()


def test_closing_twice_is_harmless_and_reading_a_closed_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("1\n")
    file = SystemFiles().open(path)
    file.close()
    file.close()
    with pytest.raises(OSError) as caught:
        file.read()
    assert caught.value.errno == errno.EBADF


def test_descriptors_are_not_inherited_by_child_processes(tmp_path: Path, page: Path) -> None:
    file, registers = SystemFiles().open(page), MappedRegisters(page, PAGE)
    assert not os.get_inheritable(file._descriptor)
    assert not os.get_inheritable(registers._descriptor)
    file.close()
    registers.close()


def test_errors_pass_through_with_their_errno(tmp_path: Path) -> None:
    files = SystemFiles()
    for call in (files.open, files.read, files.names, files.resolve):
        with pytest.raises(FileNotFoundError):
            call(tmp_path / "absent")


def test_names_are_sorted(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).touch()
    assert SystemFiles().names(tmp_path) == ["a", "b", "c"]


def test_resolving_follows_links(tmp_path: Path) -> None:
    (tmp_path / "1-0040").mkdir()
    (tmp_path / "device").symlink_to(tmp_path / "1-0040")
    assert SystemFiles().resolve(tmp_path / "device").name == "1-0040"


def test_writing_creates_the_folders_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "run" / "kvbench" / "state"
    SystemFiles().write(path, b"one\n")
    SystemFiles().write(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    assert SystemFiles().names(path.parent) == ["state"]


@given(offset=st.integers(0, PAGE // 4 - 1).map(lambda word: word * 4), value=st.integers(0, 2**32 - 1))
def test_a_register_is_one_little_endian_word_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, offset: int, value: int
) -> None:
    path = tmp_path_factory.mktemp("uio") / "uio1"
    path.write_bytes(bytes(PAGE))
    registers = SystemFiles().map_registers(path, PAGE)
    registers.write32(offset, value)
    assert registers.read32(offset) == value
    assert path.read_bytes() == bytes(offset) + struct.pack("<I", value) + bytes(PAGE - offset - 4)
    registers.close()


def test_another_writer_of_the_file_is_seen_through_the_mapping(page: Path) -> None:
    registers = SystemFiles().map_registers(page, PAGE)
    with page.open("r+b") as other:
        other.seek(0x100)
        other.write(struct.pack("<I", 77))
    assert registers.read32(0x100) == 77
    registers.close()


@pytest.mark.parametrize("offset", [1, 2, 3, 0x101])
def test_unaligned_registers_are_refused(page: Path, offset: int) -> None:
    registers = SystemFiles().map_registers(page, PAGE)
    with pytest.raises(ValueError, match="unaligned"):
        registers.read32(offset)
    with pytest.raises(ValueError, match="unaligned"):
        registers.write32(offset, 0)
    registers.close()


def test_registers_beyond_the_page_are_refused(page: Path) -> None:
    registers = SystemFiles().map_registers(page, PAGE)
    with pytest.raises(IndexError):
        registers.read32(PAGE)
    registers.close()


def test_a_closed_page_is_refused_rather_than_read(page: Path) -> None:
    registers = SystemFiles().map_registers(page, PAGE)
    registers.close()
    registers.close()
    with pytest.raises(ValueError, match="closed"):
        registers.read32(0)


def test_a_page_in_use_is_refused_and_its_holder_named(page: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from telemetry.files import SystemFiles\n"
        "registers = SystemFiles().map_registers(Path(sys.argv[1]), 4096)\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(page)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SensorNotFound, match=rf"{page} is in use by process {holder.pid} \(\w+"):
            SystemFiles().map_registers(page, PAGE)
        holder.kill()
        holder.wait()
    SystemFiles().map_registers(page, PAGE).close()


def test_closing_gives_the_page_to_the_next(page: Path) -> None:
    first = SystemFiles().map_registers(page, PAGE)
    with pytest.raises(SensorNotFound):
        SystemFiles().map_registers(page, PAGE)
    first.close()
    SystemFiles().map_registers(page, PAGE).close()


def test_a_page_shorter_than_asked_for_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "uio1"
    path.write_bytes(b"short")
    with pytest.raises(SensorNotFound, match="cannot map 4096 bytes"):
        SystemFiles().map_registers(path, PAGE)


def test_file_access_is_loaded_by_name() -> None:
    assert isinstance(load_files(None), SystemFiles)
    assert isinstance(load_files("telemetry.files:SystemFiles"), SystemFiles)


@pytest.mark.parametrize("name", ["no_such_module:x", "telemetry.files:Nothing", "telemetry.files", ":x", ""])
def test_file_access_that_cannot_be_loaded_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f"file access '{name}' cannot be loaded"):
        load_files(name)
