"""Sensors that answer but do not tell the truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from telemetry.figures import suspicion
from telemetry.model import Column, Series, Stream, Window

Build = Callable[..., Series]
MS = 1_000_000
SECOND = 1000 * MS
CU = "DPUCZDX8G_1"
WINDOW = Window(0, 10 * SECOND)
TICKS = np.arange(0, 10 * SECOND, MS)
READS = np.arange(0, 10 * SECOND, 10 * MS)


def executions(times: np.ndarray) -> np.ndarray:
    """18 ms of 21 busy."""
    return np.where(times % (21 * MS) < 18 * MS, 0x1, 0x4)


def test_a_value_that_stands_still_under_a_varying_load_is_stuck(cu_series: Build, power_series: Build) -> None:
    watts = np.where(executions(READS) == 1, 8.7, 5.1)
    watts[300:500] = 8.72
    found = suspicion.stuck_power(
        power_series(READS, watts, averaging_ns=8_800_000), cu_series(TICKS, executions(TICKS)), CU, WINDOW
    )
    assert found is not None
    assert (found.span, found.watts) == (Window(3 * SECOND, 4_990 * MS), 8.72)
    assert found.busy_high - found.busy_low > 0.2


def test_a_value_that_stands_still_from_idle_into_a_run_is_stuck(cu_series: Build, power_series: Build) -> None:
    status = np.where(TICKS < 5 * SECOND, 0x4, 0x1)
    assert (
        suspicion.stuck_power(power_series(READS, READS * 0 + 5.03), cu_series(TICKS, status), CU, WINDOW) is not None
    )


@pytest.mark.parametrize("status", [0x1, 0x4])
def test_a_steady_load_may_repeat_one_value(cu_series: Build, power_series: Build, status: int) -> None:
    steady = cu_series(TICKS, TICKS * 0 + status)
    assert suspicion.stuck_power(power_series(READS, READS * 0 + 5.03), steady, CU, WINDOW) is None


def test_short_repeats_under_a_varying_load_are_no_fault(cu_series: Build, power_series: Build) -> None:
    power = power_series(READS, 8 + 0.01 * ((READS // (900 * MS)) % 2))
    assert suspicion.stuck_power(power, cu_series(TICKS, executions(TICKS)), CU, WINDOW) is None
    assert suspicion.stuck_power(power_series([], []), cu_series(TICKS, executions(TICKS)), CU, WINDOW) is None


def test_half_a_second_of_busy_among_runs_of_18_ms_is_a_lost_interrupt(cu_series: Build) -> None:
    status = executions(TICKS)
    assert suspicion.lost_interrupts(cu_series(TICKS, status), CU, WINDOW) == []
    begin = 2100
    status[begin : begin + 500] = 0x1
    [found] = suspicion.lost_interrupts(cu_series(TICKS, status), CU, WINDOW)
    assert 500 <= (found.end_ns - found.start_ns) / MS <= 520


def test_a_unit_whose_every_run_takes_half_a_second_lost_no_interrupt(cu_series: Build) -> None:
    status = np.where(TICKS % (600 * MS) < 500 * MS, 0x1, 0x4)
    assert suspicion.lost_interrupts(cu_series(TICKS, status), CU, WINDOW) == []


def test_clocks_that_changed_in_the_window_are_named() -> None:
    columns = (Column("hertz.cpu0", "Hz", "gauge"), Column("hertz.cpu1", "Hz", "gauge"))
    stream = Stream("frequency", "cpufreq", SECOND, columns)
    times = np.arange(10) * SECOND
    values = {"hertz.cpu0": np.where(times < 5 * SECOND, 1.333e9, 1.2e9), "hertz.cpu1": np.full(10, 1.333e9)}
    series = Series(stream, times, times * 0, values)
    assert suspicion.changed_clocks(series, WINDOW) == {"cpu0": (1.2e9, 1.333e9)}
    assert suspicion.changed_clocks(series, Window(0, 4 * SECOND)) == {}
