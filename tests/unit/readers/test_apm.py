"""The performance monitor: programmed exactly, read live, shared with nobody, handed back stopped."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import ConfigError, ReadGap, SensorNotFound
from telemetry.files import SystemFiles
from telemetry.readers import Reader, open_kind
from telemetry.readers.apm import ApmReader, selected_by_us, selector_words
from tests.unit.readers.trees import BOOT_ID, FaultyFiles, kv260, register, write

CONTROL, SAMPLE, RUN = 0x300, 0x02C, 0x10001
STATE = "run/kvbench/apm-0xfd0b0000.boot"
WRITE_BYTES, READ_BYTES, WRITE_BEATS = 2, 3, 4


class Monitor:
    """A monitor that counts what is selected, only while enabled, modulo 2**32, and latches on a sample read."""

    def __init__(self, start: int = 0) -> None:
        self.words = {CONTROL: 0}
        self.live = [start] * 10
        self.sampled = [0] * 10
        self.clock = start
        self.writes: list[tuple[int, int]] = []
        self.latches = 0
        self.closed = False

    def traffic(self, slot: int, metric: int, amount: int) -> None:
        """What the memory controller does on one port."""
        selectors = struct.pack("<3I", *(self.words.get(offset, 0) for offset in (0x44, 0x48, 0x4C)))
        if self.words[CONTROL] & 1:
            for i, selector in enumerate(selectors[:10]):
                if selector == metric | slot << 5:
                    self.live[i] = (self.live[i] + amount) % 2**32

    def read32(self, offset: int) -> int:
        assert not self.closed and offset % 4 == 0
        if offset == SAMPLE:
            self.latches += 1
            self.sampled = list(self.live)
        if 0x100 <= offset < 0x1A0:
            return self.live[(offset - 0x100) >> 4]
        if 0x200 <= offset < 0x2A0:
            return self.sampled[(offset - 0x200) >> 4]
        return self.clock if offset == 0x004 else self.words.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        assert not self.closed and offset % 4 == 0 and 0 <= value < 2**32
        self.writes.append((offset, value))
        self.words[offset] = value
        if offset == CONTROL and value & 2:
            self.live = [0] * 10

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return kv260(tmp_path)


def opened(root: Path, **options: str) -> Reader:
    [(name, reader)] = open_kind("apm", SystemFiles(), root, options)
    assert name == "apm"
    return reader


def running(root: Path, selectors: tuple[int, ...]) -> None:
    """Leave the node as a program that was killed leaves it."""
    page = bytearray(4096)
    struct.pack_into("<3I", page, 0x44, *selectors)
    struct.pack_into("<I", page, CONTROL, RUN)
    write(root, {"dev/uio1": bytes(page)})


def test_the_selectors_are_those_of_the_register_documents() -> None:
    assert [f"{word:08x}" for word in selector_words()] == ["42432223", "82836263", "0000a2a3"]


def test_registers_are_programmed_in_order_and_the_monitor_runs_last() -> None:
    monitor = Monitor()
    ApmReader(monitor)
    assert monitor.writes == [
        (0x044, 0x42432223),
        (0x048, 0x82836263),
        (0x04C, 0x0000A2A3),
        (0x028, 0),
        (0x030, 0),
        (0x300, 0x20002),
        (0x300, 0x10001),
    ]


def test_each_port_counts_into_its_own_columns() -> None:
    monitor = Monitor()
    reader = ApmReader(monitor)
    for slot in range(1, 6):
        monitor.traffic(slot, READ_BYTES, 1000 * slot)
        monitor.traffic(slot, WRITE_BYTES, 10 * slot)
        monitor.traffic(slot, WRITE_BEATS, 7)
    monitor.clock = 533
    values = {column.name: value for column, value in zip(reader.columns, reader.read(), strict=True)}
    assert values == {
        **{f"read.slot{slot}": 1000 * slot for slot in range(1, 6)},
        **{f"write.slot{slot}": 10 * slot for slot in range(1, 6)},
        "clock": 533,
    }
    assert {column.wrap for column in reader.columns} == {2**32}
    assert [column.unit for column in reader.columns] == ["B"] * 10 + ["1"]


def test_live_counters_are_read_and_nothing_is_latched() -> None:
    monitor = Monitor()
    reader = ApmReader(monitor)
    monitor.traffic(3, READ_BYTES, 5)
    assert reader.read()[4] == 5
    assert monitor.latches == 0


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_differences_modulo_the_wrap_are_the_traffic(amounts: list[int]) -> None:
    monitor = Monitor()
    reader = ApmReader(monitor)
    column = next(i for i, c in enumerate(reader.columns) if c.name == "write.slot4")
    readings = [reader.read()[column]]
    for amount in amounts:
        monitor.traffic(4, WRITE_BYTES, amount)
        readings.append(reader.read()[column])
    assert [(b - a) % 2**32 for a, b in pairwise(readings)] == amounts


def test_counters_that_did_not_reset_are_a_baseline_and_not_an_error() -> None:
    monitor = Monitor()
    reader = ApmReader(monitor)
    monitor.live = [123456] * 10
    assert reader.read()[0] == 123456


def test_closing_stops_the_monitor_and_unmaps_once() -> None:
    monitor = Monitor()
    reader = ApmReader(monitor)
    reader.close()
    assert monitor.writes[-1] == (CONTROL, 0)
    assert monitor.closed
    reader.close()


def test_a_tracer_that_reprograms_it_makes_gaps_and_is_left_alone() -> None:
    monitor = Monitor()
    reader = ApmReader(monitor)
    monitor.words[0x44] = 0x42432423
    writes = len(monitor.writes)
    for _ in range(3):
        with pytest.raises(ReadGap, match="taken by another program"):
            reader.read()
    reader.close()
    assert len(monitor.writes) == writes
    assert monitor.closed


def test_a_monitor_that_was_left_stopped_is_started_again_after_one_gap() -> None:
    monitor = Monitor()
    reader = ApmReader(monitor)
    monitor.words[CONTROL] = 0
    with pytest.raises(ReadGap, match="restarted"):
        reader.read()
    assert selected_by_us(monitor)
    assert len(reader.read()) == 11


def test_the_monitor_is_found_by_address_and_not_by_number(root: Path) -> None:
    reader = opened(root)
    assert reader.attributes["device"].endswith("dev/uio1")
    assert register(root, CONTROL) == RUN
    assert register(root, CONTROL, "dev/uio0") == 0
    reader.close()
    assert register(root, CONTROL) == 0


def test_an_address_without_leading_zeros_is_understood(root: Path) -> None:
    write(root, {"sys/class/uio/uio1/maps/map0/addr": "0xfd0b0000\n"})
    opened(root).close()


def test_a_generic_driver_is_recognised_by_its_device_tree_node(root: Path) -> None:
    write(root, {"sys/class/uio/uio1/name": "uio_pdrv\n", "sys/class/uio/uio1/device/of_node/name": "perf-monitor\0"})
    opened(root).close()


def test_another_device_at_that_address_is_not_a_monitor(root: Path) -> None:
    write(root, {"sys/class/uio/uio1/name": "dma\n"})
    with pytest.raises(SensorNotFound, match="no performance monitor at 0xfd0b0000"):
        opened(root)


def test_a_node_this_user_may_not_open_names_the_remedy(root: Path) -> None:
    class Forbidden(SystemFiles):
        def map_registers(self, path: Path, length: int) -> None:  # type: ignore[override]
            raise PermissionError(13, "Permission denied")

    with pytest.raises(SensorNotFound, match=r"dev/uio1: Permission denied; a udev rule"):
        open_kind("apm", Forbidden(), root, {})


def test_a_second_observer_is_refused_while_the_first_runs(root: Path) -> None:
    first = opened(root)
    with pytest.raises(SensorNotFound, match="in use by process"):
        opened(root)
    assert register(root, CONTROL) == RUN
    first.close()
    opened(root).close()


def test_a_monitor_killed_in_this_boot_is_taken_over(root: Path) -> None:
    running(root, selector_words())
    write(root, {STATE: BOOT_ID})
    reader = opened(root)
    assert len(reader.read()) == 11
    reader.close()


@pytest.mark.parametrize(
    ("selectors", "state"),
    [
        (selector_words(), None),
        (selector_words(), "00000000-0000-4000-8000-000000000000\n"),
        ((0x42432423, 0x82836263, 0xA2A3), BOOT_ID),
    ],
    ids=["no state file", "state file of an earlier boot", "the tracer's selectors"],
)
def test_a_monitor_that_runs_for_somebody_else_is_refused_and_left_alone(
    root: Path, selectors: tuple[int, ...], state: str | None
) -> None:
    running(root, selectors)
    if state:
        write(root, {STATE: state})
    before = (root / "dev/uio1").read_bytes()
    with pytest.raises(SensorNotFound, match=r"already running \(control 0x10001\).*likely owner: vaitrace"):
        opened(root)
    assert (root / "dev/uio1").read_bytes() == before
    write(root, {"dev/uio1": bytes(4096)})
    opened(root).close()


def test_without_a_boot_id_nothing_is_taken_over(root: Path) -> None:
    running(root, selector_words())
    write(root, {STATE: "unknown\n", "proc/sys/kernel/random/boot_id": None})
    with pytest.raises(SensorNotFound, match="already running"):
        opened(root)


def test_the_state_file_is_written_where_asked(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    reader = opened(root, state_dir=str(folder))
    assert (folder / "apm-0xfd0b0000.boot").read_text() == BOOT_ID
    assert not (root / STATE).exists()
    reader.close()


def test_an_unwritable_state_folder_is_told_and_costs_no_more_than_the_takeover(root: Path) -> None:
    write(root, {"run/kvbench": "a file where a folder should be\n"})
    reader = opened(root)
    assert reader.attributes["takeover"].startswith(f"no: {root}/run/kvbench/apm-0xfd0b0000.boot: ")
    assert len(reader.read()) == 11
    reader.close()
    assert opened(write(root, {"run/kvbench": None})).attributes["takeover"] == f"by {root}/{STATE}"


def test_a_node_that_somebody_else_locked_is_in_use_whatever_file_access_says_so(root: Path) -> None:
    class Locked(SystemFiles):
        def map_registers(self, path: Path, length: int) -> None:  # type: ignore[override]
            raise BlockingIOError(11, "Resource temporarily unavailable")

    with pytest.raises(SensorNotFound, match="dev/uio1 is in use by another process; stop it first"):
        open_kind("apm", Locked(), root, {})


def test_a_wrong_address_is_a_configuration_error(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"apm: address: expected .*, not '0xFD0B'"):
        open_kind("apm", FaultyFiles(), root, {"address": "0xFD0B"})
