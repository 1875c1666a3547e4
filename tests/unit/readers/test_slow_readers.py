"""Temperatures, clocks, GPU load and the observer's own cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemetry.boards import load_board
from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import SystemFiles
from telemetry.readers import Reader, open_kind
from telemetry.readers.self_cost import SelfCostReader
from tests.unit.readers.trees import FaultyFiles, jetson, kv260, laptop, write


def by_board(board: str, kind: str, root: Path) -> tuple[str, Reader]:
    options = next(plan.options for plan in load_board(board).streams if plan.kind == kind)
    [opened] = open_kind(kind, SystemFiles(), root, options)
    return opened


def values(reader: Reader) -> dict[str, float]:
    return {column.name: value for column, value in zip(reader.columns, reader.read(), strict=True)}


def test_temperatures_of_a_chip_are_in_celsius(tmp_path: Path) -> None:
    name, reader = by_board("kv260", "thermal", kv260(tmp_path))
    assert name == "temperature"
    assert values(reader) == {"celsius.ams.temp1": 41.25}


def test_a_label_names_the_sensor(tmp_path: Path) -> None:
    root = write(kv260(tmp_path), {"sys/class/hwmon/hwmon0/temp1_label": "PS Temp\n"})
    assert list(values(by_board("kv260", "thermal", root)[1])) == ["celsius.ams.ps_temp"]


def test_a_sensor_that_shows_a_sentinel_when_opened_is_left_out(tmp_path: Path) -> None:
    [(_, reader)] = open_kind("thermal", SystemFiles(), jetson(tmp_path), {})
    assert values(reader) == {"celsius.cpu-thermal": 48.5}


def test_a_sensor_that_shows_one_later_is_a_gap(tmp_path: Path) -> None:
    root = jetson(tmp_path)
    _, reader = by_board("jetson-orin-nx", "thermal", root)
    write(root, {"sys/class/thermal/thermal_zone0/temp": "-256000\n"})
    with pytest.raises(ReadGap, match="implausible"):
        reader.read()


def test_zones_of_one_type_are_numbered(tmp_path: Path) -> None:
    assert values(by_board("linux", "thermal", laptop(tmp_path))[1]) == {
        "celsius.acpitz": 27.8,
        "celsius.acpitz#2": 29.8,
    }


def test_a_zone_that_was_renumbered_is_found_by_its_type(tmp_path: Path) -> None:
    root = jetson(tmp_path)
    files = FaultyFiles()
    [(_, reader)] = open_kind("thermal", files, root, {"zones": ["cpu*"]})
    (root / "sys/class/thermal/thermal_zone0").rename(root / "sys/class/thermal/thermal_zone8")
    files.script("temp", [OSError(19, "ENODEV")])
    with pytest.raises(ReadGap, match="vanished"):
        reader.read()
    assert reader.read() == (48.5,)


def test_clocks_are_in_hertz_and_the_governor_is_told(tmp_path: Path) -> None:
    name, reader = by_board("kv260", "cpufreq", kv260(tmp_path))
    assert name == "frequency"
    assert values(reader) == {"hertz.cpu0": 1_199_999_000, "hertz.cpu1": 1_199_999_000}
    assert reader.attributes == {"governor": "performance"}


def test_governors_that_differ_are_all_told(tmp_path: Path) -> None:
    root = write(kv260(tmp_path), {"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "ondemand\n"})
    assert by_board("kv260", "cpufreq", root)[1].attributes == {"governor": "ondemand, performance"}


def test_gpu_load_is_a_ratio(tmp_path: Path) -> None:
    name, reader = by_board("jetson-orin-nx", "gpu-load", jetson(tmp_path))
    assert name == "gpu"
    assert values(reader) == {"busy_ratio": 0.375}


def test_the_older_place_of_the_gpu_load_is_known(tmp_path: Path) -> None:
    root = write(tmp_path, {"sys/devices/gpu.0/load": "1000\n"})
    assert by_board("jetson-orin-nx", "gpu-load", root)[1].read() == (1.0,)


def test_a_load_above_full_scale_is_implausible(tmp_path: Path) -> None:
    root = jetson(tmp_path)
    _, reader = by_board("jetson-orin-nx", "gpu-load", root)
    write(root, {"sys/devices/platform/bus@0/17000000.gpu/load": "1001\n"})
    with pytest.raises(ReadGap, match="implausible"):
        reader.read()


def test_the_observers_cost_is_what_it_is_told() -> None:
    reader = SelfCostReader(iter([1.5, 1.75]).__next__)
    assert (reader.read(), reader.read()) == ((1.5,), (1.75,))
    reader.close()


def test_the_observers_own_process_is_counted() -> None:
    [(name, reader)] = open_kind("self-cost", SystemFiles(), Path("/"), {})
    assert name == "observer"
    [before] = reader.read()
    sum(range(200_000))
    assert reader.read()[0] >= before > 0


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("thermal", {}, "no temperature sensor"),
        ("cpufreq", {}, "no scaling_cur_freq"),
        ("gpu-load", {"paths": ["sys/a/load"]}, "no GPU load file: sys/a/load"),
    ],
)
def test_what_a_machine_does_not_have_is_named(
    tmp_path: Path, kind: str, options: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(SensorNotFound, match=message):
        open_kind(kind, SystemFiles(), tmp_path, options)
