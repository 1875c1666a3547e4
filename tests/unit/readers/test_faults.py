"""What holds for every reader of files: any fault is a gap with a reason, and the next good read is the value."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.boards import board_names, load_board
from telemetry.errors import ReadGap
from telemetry.readers import READERS, open_kind
from tests.unit.readers.trees import FaultyFiles, jetson, kv260, laptop

SENTINEL = b"4294967295000\n"
ERRNOS = (
    *(errno.EAGAIN, errno.EBUSY, errno.ENODATA, errno.EIO, errno.ETIMEDOUT),
    *(errno.ENXIO, errno.ENODEV, errno.ENOENT, errno.ESTALE, errno.EACCES),
)
TEXTS = (b"", b"\n", b"\0\0\0\0\n", b"12", b"not a number\n")
FAULTS = st.sampled_from([*(OSError(number, "injected") for number in ERRNOS), *TEXTS])
REASONS = {
    "try again (EAGAIN)",
    "busy (EBUSY)",
    "no data (ENODATA)",
    "input/output error (EIO)",
    "timed out (ETIMEDOUT)",
    "no device (ENXIO)",
    "vanished",
    "stale (ESTALE)",
    "not permitted (EACCES)",
    "empty",
    "garbage",
    "implausible",
    "not discharging",
}


@dataclass(frozen=True)
class Sensor:
    """One sensor of a board, and the name of the file to break."""

    board: str
    kind: str
    file: str
    sentinel: bool = True
    """Whether a huge number in the file can be told from a reading."""


TREES: dict[str, Callable[[Path], Path]] = {"kv260": kv260, "jetson-orin-nx": jetson, "linux": laptop}
SENSORS = [
    Sensor("kv260", "xrt-cu", "kds_custat_raw"),
    Sensor("kv260", "xrt-cu", "stat", sentinel=False),
    Sensor("kv260", "hwmon-power", "power1_input"),
    Sensor("kv260", "proc-stat", "stat"),
    Sensor("kv260", "thermal", "temp1_input"),
    Sensor("kv260", "cpufreq", "scaling_cur_freq"),
    Sensor("jetson-orin-nx", "hwmon-power", "in1_input"),
    Sensor("jetson-orin-nx", "hwmon-power", "curr1_input"),
    Sensor("jetson-orin-nx", "gpu-load", "load"),
    Sensor("linux", "rapl", "energy_uj", sentinel=False),
    Sensor("linux", "battery", "power_now"),
    Sensor("linux", "battery", "status"),
]


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda sensor: f"{sensor.kind}-{sensor.file}")
@settings(deadline=None, max_examples=20)
@given(faults=st.lists(FAULTS, min_size=1, max_size=12))
def test_faults_in_any_order_are_gaps_and_never_values_or_other_errors(
    tmp_path_factory: pytest.TempPathFactory, sensor: Sensor, faults: list[OSError | bytes]
) -> None:
    root = TREES[sensor.board](tmp_path_factory.mktemp("root"))
    files = FaultyFiles()
    options = next(plan.options for plan in load_board(sensor.board).streams if plan.kind == sensor.kind)
    _, reader = open_kind(sensor.kind, files, root, options)[0]
    truth = reader.read()
    files.script(sensor.file, [*faults, *([SENTINEL] if sensor.sentinel else [])])
    pending = files.reads[sensor.file]
    gaps = 0
    while pending:
        before = len(pending)
        try:
            value = reader.read()
        except ReadGap as caught:
            gaps += 1
            assert caught.reason in REASONS
        else:
            # A text caught half-written is read once more, and an unchanged state need not be read at all.
            assert value == truth
            assert before - len(pending) <= 1
        if len(pending) == before:
            reader.close()  # a settled count is not read again until the state changes; closing forgets it
    assert gaps > 0
    assert reader.read() == truth
    reader.close()


def test_every_kind_of_sensor_stands_in_a_profile_and_in_the_table() -> None:
    used = {plan.kind for name in board_names() for plan in load_board(name).streams}
    assert used == set(READERS)


def test_closing_twice_and_reading_on_is_harmless(tmp_path: Path) -> None:
    root = kv260(tmp_path)
    for plan in load_board("kv260").streams:
        if plan.kind == "apm":
            continue
        for _, reader in open_kind(plan.kind, FaultyFiles(), root, plan.options):
            first = reader.read()
            reader.close()
            reader.close()
            if plan.kind != "self-cost":
                assert reader.read() == first
