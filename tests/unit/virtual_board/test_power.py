"""The power sensor shows averages of finished conversions, in steps, with the errors it has (board facts, 3.1)."""

from __future__ import annotations

import random
import statistics
from pathlib import Path

import pytest

from virtual_board.constants import Constants
from virtual_board.power import PowerSensor
from virtual_board.state import Level

W = 8_800_000
IDEAL = Constants(gain_limit=0.0, offset_limit_watts=0.0, noise_watts=0.0)


def sensor(root: Path, constants: Constants = IDEAL, seed: int = 1) -> tuple[Level, PowerSensor]:
    rail = Level(0, constants.idle_watts)
    return rail, PowerSensor(root, constants, random.Random(seed), rail, 0)


def watts(root: Path, number: int = 1) -> float:
    return int((root / f"sys/class/hwmon/hwmon{number}/power1_input").read_text()) * 1e-6


def test_a_reading_is_the_average_of_the_last_conversion(tmp_path: Path) -> None:
    rail, chip = sensor(tmp_path)
    chip.convert(W)
    rail.change(W + W // 4, 4.0)
    assert watts(tmp_path) == 4.83
    chip.convert(2 * W)
    assert watts(tmp_path) == pytest.approx(7.83)
    chip.convert(3 * W)
    assert watts(tmp_path) == pytest.approx(8.83)


def test_readings_go_in_steps_of_ten_milliwatts(tmp_path: Path) -> None:
    rail, chip = sensor(tmp_path)
    for number in range(1, 200):
        rail.change((number - 1) * W, 0.0013)
        chip.convert(number * W)
        microwatts = int((tmp_path / "sys/class/hwmon/hwmon1/power1_input").read_text())
        assert microwatts % 10_000 == 0
        assert microwatts * 1e-6 == pytest.approx(rail.rate, abs=0.00501)


def test_gain_and_offset_are_drawn_within_their_limits_and_shown(tmp_path: Path) -> None:
    constants = Constants()
    rail, chip = sensor(tmp_path, constants, seed=9)
    assert 0 < abs(chip.gain_error) <= constants.gain_limit
    assert 0 < abs(chip.offset_watts) <= constants.offset_limit_watts
    readings = []
    for number in range(1, 4001):
        chip.convert(number * W)
        readings.append(watts(tmp_path))
    expected = constants.idle_watts * (1 + chip.gain_error) + chip.offset_watts
    assert statistics.fmean(readings) == pytest.approx(expected, abs=5 * 0.009 / 4000**0.5)
    assert rail.rate == constants.idle_watts


def test_volts_times_amperes_agree_with_the_power_register(tmp_path: Path) -> None:
    _, chip = sensor(tmp_path)
    chip.convert(W)
    folder = tmp_path / "sys/class/hwmon/hwmon1"
    volts = int((folder / "in1_input").read_text()) * 1e-3
    amperes = int((folder / "curr1_input").read_text()) * 1e-3
    assert volts * amperes == pytest.approx(watts(tmp_path), abs=0.02)


def test_a_vanished_sensor_reads_empty_through_a_kept_descriptor_and_comes_back(tmp_path: Path) -> None:
    _, chip = sensor(tmp_path)
    with (tmp_path / "sys/class/hwmon/hwmon1/power1_input").open() as kept:
        chip.vanish()
        chip.convert(W)
        assert kept.read() == ""
    assert not (tmp_path / "sys/class/hwmon/hwmon1").exists()
    chip.appear()
    assert watts(tmp_path) == 4.83


def test_a_renumbered_sensor_is_the_same_under_another_number(tmp_path: Path) -> None:
    _, chip = sensor(tmp_path)
    chip.renumber()
    assert (tmp_path / "sys/class/hwmon/hwmon3/name").read_text() == "ina260_u14\n"
    assert (tmp_path / "sys/class/hwmon/hwmon3/device").resolve().name == "ina260-u14"
    assert not (tmp_path / "sys/class/hwmon/hwmon1").exists()
    chip.convert(W)
    assert watts(tmp_path, 3) == 4.83


def test_a_stuck_sensor_keeps_its_value_while_power_changes(tmp_path: Path) -> None:
    rail, chip = sensor(tmp_path)
    chip.convert(W)
    chip.stuck = True
    rail.change(W, 3.0)
    chip.convert(2 * W)
    assert watts(tmp_path) == 4.83
    chip.stuck = False
    chip.convert(3 * W)
    assert watts(tmp_path) == 7.83
