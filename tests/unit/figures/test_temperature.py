"""Mean temperatures."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.errors import NotCovered
from telemetry.figures.power import ripple_watts
from telemetry.figures.temperature import mean_celsius
from telemetry.model import Column, Series, Stream, Window

SECOND = 1_000_000_000


def temperatures(**sensors: list[float]) -> Series:
    columns = tuple(Column(f"celsius.{name}", "Cel", "gauge") for name in sensors)
    values = {f"celsius.{name}": np.asarray(samples) for name, samples in sensors.items()}
    t_ns = np.arange(len(next(iter(sensors.values()))), dtype=np.int64) * SECOND
    return Series(Stream("temperature", "thermal", SECOND, columns), t_ns, np.zeros_like(t_ns), values)


def test_each_sensor_has_the_mean_of_its_readings_in_the_window() -> None:
    found = mean_celsius(temperatures(ps=[40.0, 41.0, 43.0, 80.0], pl=[50.0, 50.0, 50.0, 50.0]), Window(0, 2 * SECOND))
    assert {name: one.value for name, one in found.items()} == {"ps": pytest.approx(124 / 3), "pl": 50.0}
    assert (found["ps"].name, found["ps"].unit, found["ps"].quality.samples) == ("temperature.ps", "Cel", 3)


def test_a_window_between_two_readings_has_no_temperature() -> None:
    with pytest.raises(NotCovered, match="no reading"):
        mean_celsius(temperatures(ps=[40.0, 41.0]), Window(1, SECOND - 1))


def test_the_ripple_of_power_is_that_of_the_readings_that_belong_to_the_window(power_series) -> None:
    watts = [5.0, 5.0, 8.0, 9.0, 8.0, 9.0, 5.0]
    series = power_series(np.arange(7) * 10_000_000, watts, averaging_ns=10_000_000)
    assert ripple_watts(series, Window(10_000_000, 40_000_000)).value == pytest.approx(np.std([8, 9, 8, 9], ddof=1))
    with pytest.raises(NotCovered, match="1 readings"):
        ripple_watts(series, Window(10_000_000, 11_000_000))
