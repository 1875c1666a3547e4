"""The paper's published figures, recomputed from the numbers it publishes beside them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from telemetry.figures import energy, memory, power, throughput
from telemetry.figures.throughput import ExecutionSpan
from telemetry.model import Series, Window

Build = Callable[..., Series]
SECOND = 1_000_000_000
MINUTE = Window(SECOND, 61 * SECOND)
TIMES = np.arange(0, 62 * SECOND + 1, 10_000_000)


@pytest.mark.parametrize(
    ("per_second", "watts", "joules", "per_watt", "latency"),
    [(0.5158, 5.087, 9.862, 0.1014, 1.9387), (49.13, 8.735, 0.1778, 5.624, 0.02036)],
    ids=["Original C2f", "C2fDeploy"],
)
def test_table_6_follows_from_its_throughput_and_power(
    power_series: Build, per_second: float, watts: float, joules: float, per_watt: float, latency: float
) -> None:
    series = power_series(TIMES, np.full(TIMES.size, watts), averaging_ns=8_800_000)
    span = ExecutionSpan(MINUTE, per_second * 60)
    rate = throughput.throughput(span)
    assert energy.per_execution_over(series, span).total.value == pytest.approx(joules, rel=3e-4)
    assert throughput.per_watt(rate, power.mean_watts(series, MINUTE)).value == pytest.approx(per_watt, rel=3e-4)
    assert throughput.reciprocal_latency(rate).value == pytest.approx(latency, rel=3e-4)


@pytest.mark.parametrize(
    ("read", "write", "total", "per_second", "per_execution"),
    [(28.3452e6, 11.8584e6, 40.2036e6, 0.516308, 77.8675e6), (2289.9858e6, 960.5783e6, 3250.5641e6, 48.999, 66.3395e6)],
    ids=["Original C2f", "C2fDeploy"],
)
def test_table_8_follows_from_its_bandwidths_and_throughput(
    apm_series: Build, read: float, write: float, total: float, per_second: float, per_execution: float
) -> None:
    times = TIMES[::10]
    seconds = times / SECOND
    ports = {f"read.slot{slot}": read / 5 * seconds for slot in range(1, 6)}
    ports |= {f"write.slot{slot}": write / 5 * seconds for slot in range(1, 6)}
    series = apm_series(times, ports, clock=533_333_333 * seconds)
    rates = memory.bandwidth(series, MINUTE)
    assert {way: rate.value for way, rate in rates.items()} == pytest.approx(
        {"read": read, "write": write, "total": total}, rel=1e-6
    )
    moved = memory.bytes_per_execution_over(series, ExecutionSpan(MINUTE, per_second * 60))
    assert moved["total"].value == pytest.approx(per_execution, rel=2e-5)


def test_table_9_energy_follows_from_its_power_and_rate(power_series: Build) -> None:
    for watts, per_second, joules in ((8.601, 46.542, 0.18480), (8.050, 127.280, 0.06325)):
        series = power_series(TIMES, np.full(TIMES.size, watts))
        span = ExecutionSpan(MINUTE, per_second * 60)
        assert energy.per_execution_over(series, span).total.value == pytest.approx(joules, abs=6e-6)
