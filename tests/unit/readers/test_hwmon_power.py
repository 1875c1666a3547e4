"""Power rails: found by name and bus, in watts, with what figures must know of them."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from telemetry.boards import load_board
from telemetry.errors import ConfigError, ReadGap, SensorNotFound
from telemetry.files import Files, SystemFiles
from telemetry.readers import Reader, open_kind
from tests.unit.readers.trees import FaultyFiles, jetson, kv260, write

RAIL: dict[str, Any] = {"name": "som", "chips": [{"prefix": "ina260"}], "covers": "SOM", "boundary": "SOM rail"}
IIO = "sys/bus/iio/devices/iio:device0"


def board_options(name: str) -> dict[str, Any]:
    return next(plan.options for plan in load_board(name).streams if plan.kind == "hwmon-power")


def opened(root: Path, files: Files | None = None, **rail: object) -> Reader:
    [(name, reader)] = open_kind("hwmon-power", files or SystemFiles(), root, {"rails": [RAIL | rail]})
    assert name == "power.som"
    return reader


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return kv260(tmp_path)


def test_the_kv260_profile_reads_its_som_rail(root: Path) -> None:
    [(name, reader)] = open_kind("hwmon-power", SystemFiles(), root, board_options("kv260"))
    assert name == "power.som"
    assert reader.read() == (4.67,)
    assert reader.attributes == {
        "chip": "ina260_u14",
        "device": str(root / "sys/devices/platform/ina260-u14"),
        "node_exporter_chip": "platform_ina260_u14",
        "covers": reader.attributes["covers"],
        "boundary": "SOM 5 V rail",
        "gain_u": "0.0015",
        "offset_u_watts": "0.0144",
        "resolution_watts": "0.01",
        "averaging_ns": "8800000",
        "averaging_source": "board profile",
    }


def test_the_newer_driver_has_another_name_and_tells_its_averaging_time(root: Path) -> None:
    write(root, {"sys/class/hwmon/hwmon1/name": "ina260\n", "sys/class/hwmon/hwmon1/update_interval": "36\n"})
    [(_, reader)] = open_kind("hwmon-power", SystemFiles(), root, board_options("kv260"))
    assert reader.attributes["averaging_ns"] == "36000000"
    assert reader.attributes["averaging_source"] == "update_interval"


def test_the_newer_driver_without_an_interval_averages_longer(root: Path) -> None:
    write(root, {"sys/class/hwmon/hwmon1/name": "ina260\n"})
    [(_, reader)] = open_kind("hwmon-power", SystemFiles(), root, board_options("kv260"))
    assert reader.attributes["averaging_ns"] == "35200000"


@pytest.mark.parametrize(
    ("device", "averaging_ns"),
    [
        ({"in_current0_integration_time": "0.001100\n", "in_voltage1_integration_time": "0.001100\n"}, 8_800_000),
        ({"in_current0_integration_time": "0.000588\n", "in_voltage1_integration_time": "0.001100\n"}, 6_752_000),
        ({"in_integration_time": "0.001100\n"}, 8_800_000),
    ],
    ids=["each its own", "unequal", "one for both"],
)
def test_oversampling_times_integration_of_the_iio_device_is_the_averaging_time(
    root: Path, device: dict[str, str], averaging_ns: int
) -> None:
    write(root, {f"{IIO}/{name}": text for name, text in device.items()})
    write(root, {f"{IIO}/name": "ina260-adc\n", f"{IIO}/in_oversampling_ratio": "4\n"})
    reader = opened(root)
    assert reader.attributes["averaging_ns"] == str(averaging_ns)
    assert reader.attributes["averaging_source"].startswith("iio:device0")


def test_of_several_iio_devices_the_label_decides_and_else_none(root: Path) -> None:
    for number, ratio in ((0, 1), (1, 16)):
        device = f"sys/bus/iio/devices/iio:device{number}"
        write(root, {f"{device}/name": "ina260\n", f"{device}/in_oversampling_ratio": f"{ratio}\n"})
        write(root, {f"{device}/in_integration_time": "0.0011\n"})
    assert "averaging_ns" not in opened(root).attributes
    write(root, {"sys/bus/iio/devices/iio:device1/label": "ina260-u14\n"})
    assert opened(root).attributes["averaging_ns"] == "35200000"


def test_without_any_source_the_averaging_time_is_absent_and_not_zero(root: Path) -> None:
    write(root, {"sys/class/hwmon/hwmon1/update_interval": "0\n"})
    assert "averaging_ns" not in opened(root).attributes


def test_the_jetson_profile_multiplies_volts_and_amperes_by_label(tmp_path: Path) -> None:
    readers = dict(open_kind("hwmon-power", SystemFiles(), jetson(tmp_path), board_options("jetson-orin-nx")))
    assert {name: reader.read() for name, reader in readers.items()} == {
        "power.vdd_in": (pytest.approx(4.96 * 1.2),),
        "power.vdd_cpu_gpu_cv": (pytest.approx(4.96 * 0.4),),
        "power.vdd_soc": (pytest.approx(4.96 * 0.3),),
    }
    assert readers["power.vdd_in"].attributes["node_exporter_chip"] == "i2c_1_1_0040"
    assert readers["power.vdd_in"].attributes["averaging_ns"] == "36000000"


def test_a_supply_on_another_bus_is_not_taken_for_the_rail(tmp_path: Path) -> None:
    root = jetson(tmp_path)
    (root / "sys/class/hwmon/hwmon3/device").unlink()
    other = "sys/devices/i2c-9/9-0041"
    write(root, {f"{other}/name": "ina3221\n"}, {"sys/class/hwmon/hwmon3/device": other})
    with pytest.raises(SensorNotFound, match=r"rail vdd_in: no hwmon chip is called ina3221\*; present: ina3221"):
        open_kind("hwmon-power", SystemFiles(), root, board_options("jetson-orin-nx"))


def test_limits_are_not_taken_for_readings(root: Path) -> None:
    write(root, {"sys/class/hwmon/hwmon1/power1_crit": "99000000\n", "sys/class/hwmon/hwmon1/power1_cap": "1\n"})
    assert opened(root).read() == (4.67,)


def test_an_average_is_taken_where_there_is_no_input(root: Path) -> None:
    write(root, {f"sys/class/hwmon/hwmon1/{name}": None for name in ("power1_input", "in1_input", "curr1_input")})
    write(root, {"sys/class/hwmon/hwmon1/power1_average": "5000000\n"})
    assert opened(root).read() == (5.0,)


def test_a_channel_is_chosen_by_number_where_there_is_no_label(root: Path) -> None:
    write(root, {"sys/class/hwmon/hwmon1/power2_input": "1000000\n"})
    assert opened(root, channel=2).read() == (1.0,)


def test_a_chip_without_the_channel_is_not_found(root: Path) -> None:
    with pytest.raises(SensorNotFound, match=r"rail som: .*hwmon1 \(ina260_u14\) has no channel VDD_IN"):
        opened(root, label="VDD_IN")


def test_a_board_without_the_chip_names_those_it_has(tmp_path: Path) -> None:
    write(tmp_path, {"sys/class/hwmon/hwmon0/name": "ams\n"})
    with pytest.raises(SensorNotFound, match=r"no hwmon chip is called ina260\*; present: ams"):
        opened(tmp_path)


@pytest.mark.parametrize("microwatts", ["4294967295000", "-10000", "31000000"])
def test_readings_outside_the_rail_are_implausible(root: Path, microwatts: str) -> None:
    reader = opened(root, watts_max=30)
    write(root, {"sys/class/hwmon/hwmon1/power1_input": f"{microwatts}\n"})
    with pytest.raises(ReadGap, match="implausible"):
        reader.read()


def test_a_sentinel_does_not_hide_in_a_product_with_zero_amperes(tmp_path: Path) -> None:
    root = jetson(tmp_path)
    [(_, reader), *_] = open_kind("hwmon-power", SystemFiles(), root, board_options("jetson-orin-nx"))
    write(root, {"sys/class/hwmon/hwmon3/in1_input": "4294967295\n", "sys/class/hwmon/hwmon3/curr1_input": "0\n"})
    with pytest.raises(ReadGap, match="implausible"):
        reader.read()


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENXIO, errno.ENODEV])
def test_a_chip_that_came_back_under_another_number_is_found_and_its_old_number_not_trusted(
    root: Path, number: int
) -> None:
    files = FaultyFiles()
    reader = opened(root, files)
    (root / "sys/class/hwmon/hwmon1").rename(root / "sys/class/hwmon/hwmon7")
    write(root, {"sys/class/hwmon/hwmon1/name": "other\n", "sys/class/hwmon/hwmon1/power1_input": "1000000\n"})
    files.script("power1_input", [OSError(number, "injected")])
    with pytest.raises(ReadGap):
        reader.read()
    assert reader.read() == (4.67,)


def test_a_file_replaced_under_the_descriptor_is_noticed_by_its_emptiness(root: Path) -> None:
    reader = opened(root)
    old = root / "sys/class/hwmon/hwmon1/power1_input"
    assert reader.read() == (4.67,)
    (root / "sys/class/hwmon/hwmon1").rename(root / "sys/class/hwmon/hwmon4")
    (root / "sys/class/hwmon/hwmon4/power1_input").write_bytes(b"")
    with pytest.raises(ReadGap, match="empty"):
        reader.read()
    (root / "sys/class/hwmon/hwmon4/power1_input").write_text("5000000\n")
    assert not old.exists()
    assert reader.read() == (5.0,)


def test_chips_without_a_profile_are_recorded_on_request_and_said_to_be_unknown(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sys/class/hwmon/hwmon0/name": "amdgpu\n",
            "sys/class/hwmon/hwmon0/power1_average": "15000000\n",
            "sys/class/hwmon/hwmon0/power1_label": "PPT\n",
            "sys/class/hwmon/hwmon1/name": "amdgpu\n",
            "sys/class/hwmon/hwmon1/power1_average": "25000000\n",
            "sys/class/hwmon/hwmon1/power1_label": "PPT\n",
            "sys/class/hwmon/hwmon2/name": "BAT0\n",
            "sys/class/hwmon/hwmon2/power1_input": "9000000\n",
            "sys/class/hwmon/hwmon3/name": "ina3221\n",
            "sys/class/hwmon/hwmon3/in1_label": "VDD_IN\n",
            "sys/class/hwmon/hwmon3/in1_input": "5000\n",
            "sys/class/hwmon/hwmon3/curr1_input": "1000\n",
            "sys/class/hwmon/hwmon3/in2_input": "5000\n",
            "sys/class/hwmon/hwmon3/curr2_input": "1000\n",
            "sys/devices/a/name": "",
            "sys/devices/b/name": "",
        },
        {"sys/class/hwmon/hwmon0/device": "sys/devices/a", "sys/class/hwmon/hwmon1/device": "sys/devices/b"},
    )
    readers = dict(open_kind("hwmon-power", SystemFiles(), tmp_path, board_options("linux")))
    assert {name: reader.read() for name, reader in readers.items()} == {
        "power.amdgpu_ppt": (15.0,),
        "power.amdgpu_ppt_2": (25.0,),
        "power.ina3221_vdd_in": (5.0,),
    }
    assert readers["power.amdgpu_ppt"].attributes["covers"] == "unknown: no profile describes this chip"
    assert "gain_u" not in readers["power.amdgpu_ppt"].attributes


def test_a_machine_without_meters_is_told_which_were_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SensorNotFound, match=r"no hwmon chip with power is called ina2\* or "):
        open_kind("hwmon-power", SystemFiles(), tmp_path, board_options("linux"))


@pytest.mark.parametrize(
    ("rail", "message"),
    [
        ({"gain": 1}, "rails\\[0\\]: unknown key 'gain'; did you mean 'gain_u'?"),
        ({"gain_u": -1}, "rails\\[0\\].gain_u: expected a number >= 0"),
        ({"watts_min": 5, "watts_max": 5}, "rails\\[0\\]: watts_min 5 is not below watts_max 5"),
        ({"chips": []}, "rails\\[0\\].chips: expected a list of length >= 1"),
        ({"chips": [{"prefx": "a"}]}, "rails\\[0\\].chips\\[0\\]: unknown key 'prefx'; did you mean 'prefix'?"),
        ({"name": "SOM rail"}, "rails\\[0\\].name: expected a text that matches"),
    ],
)
def test_a_wrong_rail_is_refused_by_its_place(root: Path, rail: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"hwmon-power: {message}"):
        opened(root, **rail)
