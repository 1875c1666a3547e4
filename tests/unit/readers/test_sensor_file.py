"""Kept-open sensor files: what each fault becomes, and that a lost file is found again."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.readers.sensor_file import (
    PASSING,
    PROMPT_SEARCHES,
    SEARCH_EVERY,
    SMALL_BYTES,
    SensorFile,
    gap,
    whole_number,
    whole_numbers,
    within,
)
from tests.unit.readers.trees import FaultyFiles


def _lost(_name: str = "") -> Path:
    raise SensorNotFound("nowhere")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "value"
    path.write_text("42\n")
    return path


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EAGAIN, "try again (EAGAIN)"),
        (errno.EBUSY, "busy (EBUSY)"),
        (errno.ENODATA, "no data (ENODATA)"),
        (errno.EIO, "input/output error (EIO)"),
        (errno.ENXIO, "no device (ENXIO)"),
        (errno.ENOENT, "vanished"),
        (errno.ENODEV, "vanished"),
        (errno.ESTALE, "stale (ESTALE)"),
        (errno.EACCES, "not permitted (EACCES)"),
        (errno.EREMOTEIO, "error (EREMOTEIO)"),
        (99999, "error (99999)"),
    ],
)
def test_every_errno_is_a_gap_with_a_short_reason(path: Path, number: int, reason: str) -> None:
    files = FaultyFiles()
    files.script("value", [OSError(number, "injected")])
    file = SensorFile(files, lambda: path)
    with pytest.raises(ReadGap) as caught:
        file.read()
    assert caught.value.reason == reason
    assert file.read() == b"42\n"


def test_an_error_without_an_errno_is_a_gap_as_well() -> None:
    assert gap(OSError("odd")).reason == "error (0)"


@given(st.lists(st.sampled_from([*sorted(PASSING), errno.ENOENT, errno.ENXIO, errno.ENODEV, errno.ESTALE, 0])))
def test_any_sequence_of_faults_is_as_many_gaps_and_then_the_value(
    tmp_path_factory: pytest.TempPathFactory, faults: list[int]
) -> None:
    path = tmp_path_factory.mktemp("sensor") / "value"
    path.write_text("42\n")
    files = FaultyFiles()
    files.script("value", [OSError(number, "injected") if number else b"" for number in faults])
    file = SensorFile(files, lambda: path)
    for _ in faults:
        with pytest.raises(ReadGap):
            file.read()
    assert file.read() == b"42\n"


def test_a_passing_fault_keeps_the_descriptor_and_a_lasting_one_opens_anew(path: Path) -> None:
    files, opened = FaultyFiles(), []
    file = SensorFile(files, lambda: opened.append(1) or path)  # type: ignore[func-returns-value]
    for number, openings in ((errno.EBUSY, 1), (errno.ENODEV, 2), (errno.EAGAIN, 2)):
        files.script("value", [OSError(number, "injected")])
        with pytest.raises(ReadGap):
            file.read()
        assert file.read() == b"42\n"
        assert len(opened) == openings


@pytest.mark.parametrize("length", [SMALL_BYTES - 1, SMALL_BYTES, SMALL_BYTES + 1, 5000])
def test_a_text_of_any_length_is_read_whole(path: Path, length: int) -> None:
    path.write_bytes(b"4" * (length - 1) + b"\n")
    file = SensorFile(FaultyFiles(), lambda: path)
    for _ in range(2):
        assert len(file.read()) == length


def test_an_empty_read_is_a_gap_and_the_file_is_opened_anew(path: Path) -> None:
    file = SensorFile(FaultyFiles(), lambda: path)
    assert file.read() == b"42\n"
    path.write_bytes(b"")
    with pytest.raises(ReadGap, match="empty"):
        file.read()
    path.unlink()
    path.write_text("43\n")
    assert file.read() == b"43\n"


def test_a_file_that_moved_is_found_at_its_new_place(tmp_path: Path) -> None:
    places = [tmp_path / "old", tmp_path / "new"]
    places[0].write_text("1\n")
    places[1].write_text("2\n")
    files = FaultyFiles()
    file = SensorFile(files, lambda: places[0])
    assert file.read() == b"1\n"
    places.pop(0)
    files.script("old", [OSError(errno.ENODEV, "gone")])
    file.close()
    assert file.read() == b"2\n"


def test_a_lost_file_is_searched_for_promptly_and_then_seldom(path: Path) -> None:
    searches = []
    there = False

    def locate() -> Path:
        searches.append(1)
        return path if there else _lost()

    file = SensorFile(FaultyFiles(), locate)
    for _ in range(100):
        with pytest.raises(ReadGap, match="vanished"):
            file.read()
    assert len(searches) == PROMPT_SEARCHES + sum(n % SEARCH_EVERY == 0 for n in range(PROMPT_SEARCHES + 1, 101))
    there = True
    reads = 0
    while reads <= SEARCH_EVERY:
        reads += 1
        try:
            assert file.read() == b"42\n"
            break
        except ReadGap:
            continue
    assert reads <= SEARCH_EVERY


def test_an_open_that_fails_is_a_gap(path: Path) -> None:
    files = FaultyFiles()
    file = SensorFile(files, lambda: path.with_name("absent"))
    with pytest.raises(ReadGap, match="vanished"):
        file.read()


@given(st.lists(st.integers(-(10**20), 10**20), min_size=1))
def test_whole_numbers_are_read_back(numbers: list[int]) -> None:
    assert whole_numbers((" ".join(map(str, numbers)) + "\n").encode()) == numbers


@given(st.binary(max_size=40))
def test_any_bytes_are_a_number_or_a_gap(data: bytes) -> None:
    try:
        number = whole_number(data)
    except ReadGap as caught:
        assert caught.reason == "garbage"
    else:
        assert data.strip().removeprefix(b"-").isdigit()
        assert int(data) == number


HALF_WRITTEN = [b"", b"\n", b"12", b"12\n\n", b"1\n2\n", b"1 2\n"]
ODD = [b"1_000\n", b"+1\n", b"1.5\n", b"--1\n", b"-\n", b"0x1\n", b"\xb2\n"]


@pytest.mark.parametrize("data", HALF_WRITTEN + ODD)
def test_half_written_and_odd_numbers_are_garbage(data: bytes) -> None:
    with pytest.raises(ReadGap, match="garbage"):
        whole_number(data)


@pytest.mark.parametrize("value", [-0.1, 10.1, float("nan"), float("inf")])
def test_values_outside_what_the_sensor_can_mean_are_implausible(value: float) -> None:
    with pytest.raises(ReadGap, match="implausible"):
        within(value, 0, 10)
    assert within(0, 0, 10) == 0
    assert within(10, 0, 10) == 10
