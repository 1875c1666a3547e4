"""Battery power."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import SystemFiles
from telemetry.readers import Reader, open_kind
from tests.unit.readers.trees import laptop, write

BAT0, BAT1 = "sys/class/power_supply/BAT0", "sys/class/power_supply/BAT1"


def opened(root: Path) -> Reader:
    [(name, reader)] = open_kind("battery", SystemFiles(), root, {})
    assert name == "power.battery"
    return reader


def test_power_now_is_in_watts(tmp_path: Path) -> None:
    assert opened(laptop(tmp_path)).read() == (8.25,)


@pytest.mark.parametrize("current", ["750000", "-750000"])
def test_without_it_current_times_voltage_whatever_the_sign_of_a_discharge(tmp_path: Path, current: str) -> None:
    root = write(laptop(tmp_path), {f"{BAT0}/power_now": None})
    write(root, {f"{BAT0}/current_now": f"{current}\n", f"{BAT0}/voltage_now": "12000000\n"})
    assert opened(root).read() == (pytest.approx(9.0),)


@pytest.mark.parametrize("status", ["Charging", "Full", "Not charging", "Unknown"])
def test_on_mains_the_battery_says_nothing_of_the_machine(tmp_path: Path, status: str) -> None:
    root = laptop(tmp_path)
    reader = opened(root)
    write(root, {f"{BAT0}/status": f"{status}\n"})
    with pytest.raises(ReadGap, match="not discharging"):
        reader.read()
    write(root, {f"{BAT0}/status": "Discharging\n"})
    assert reader.read() == (8.25,)


def test_two_batteries_are_added_as_far_as_they_discharge(tmp_path: Path) -> None:
    root = laptop(tmp_path)
    write(root, {f"{BAT1}/type": "Battery\n", f"{BAT1}/status": "Full\n", f"{BAT1}/power_now": "1000000\n"})
    reader = opened(root)
    assert reader.read() == (8.25,)
    write(root, {f"{BAT1}/status": "Discharging\n"})
    assert reader.read() == (9.25,)


def test_the_battery_of_a_mouse_is_none_of_the_machine(tmp_path: Path) -> None:
    write(tmp_path, {f"{BAT0}/type": "Battery\n", f"{BAT0}/scope": "Device\n", f"{BAT0}/status": "Discharging\n"})
    with pytest.raises(SensorNotFound, match="no battery"):
        opened(tmp_path)


def test_a_battery_that_tells_no_power_is_not_found(tmp_path: Path) -> None:
    root = write(laptop(tmp_path), {f"{BAT0}/power_now": None})
    with pytest.raises(SensorNotFound, match="neither power_now nor current_now and voltage_now"):
        opened(root)


def test_a_sentinel_is_implausible(tmp_path: Path) -> None:
    root = laptop(tmp_path)
    reader = opened(root)
    write(root, {f"{BAT0}/power_now": "4294967295\n"})
    with pytest.raises(ReadGap, match="implausible"):
        reader.read()
