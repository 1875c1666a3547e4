"""Mean power and energy of a rail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.figures import power
from telemetry.model import Gap, Series, Window

Build = Callable[..., Series]
MS = 1_000_000
SECOND = 1000 * MS
START = 7_000 * SECOND


def grid(seconds: float, period_ns: int = 10 * MS) -> np.ndarray:
    return START + np.arange(0, int(seconds * SECOND) + 1, period_ns, dtype=np.int64)


@given(st.floats(0.01, 300), st.integers(0, 2**32 - 1), st.integers(10 * MS, 5 * SECOND), st.integers(1, 4 * SECOND))
def test_constant_power_gives_exact_energy(
    power_series: Build, watts: float, seed: int, begin: int, length: int
) -> None:
    times = grid(10)
    times = times + np.random.default_rng(seed).integers(0, 9 * MS, times.size)
    series = power_series(times, np.full(times.size, watts))
    window = Window(START + begin, START + begin + length)
    assert power.energy_joules(series, window).value == pytest.approx(watts * window.seconds, rel=1e-9)
    assert power.mean_watts(series, window).value == pytest.approx(watts, rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1), edges=st.lists(st.integers(0, 9 * SECOND), min_size=3, max_size=3, unique=True))
def test_adjacent_windows_add_up_to_their_union(power_series: Build, seed: int, edges: list[int]) -> None:
    draw = np.random.default_rng(seed)
    times = np.sort(grid(9.2) + draw.integers(0, 9 * MS, grid(9.2).size))
    series = power_series(times, draw.uniform(3, 9, times.size), averaging_ns=8_800_000)
    first, middle, last = (START + 10 * MS + edge for edge in sorted(edges))
    parts = [power.energy_joules(series, Window(*pair)).value for pair in ((first, middle), (middle, last))]
    assert sum(parts) == pytest.approx(power.energy_joules(series, Window(first, last)).value, rel=1e-9)


def test_a_reading_belongs_to_a_time_w_earlier_than_the_read(power_series: Build) -> None:
    times = grid(4)
    window = Window(START + SECOND, START + 3 * SECOND)
    ramp = (times - START) / SECOND
    unmoved, moved = power_series(times, ramp), power_series(times, ramp, averaging_ns=100 * MS)
    assert power.mean_watts(unmoved, window).value == pytest.approx(2.0)
    assert power.mean_watts(moved, window).value == pytest.approx(2.1)


def test_trimming_takes_at_least_two_averaging_times(power_series: Build) -> None:
    assert power.least_trim_ns(power_series([0, 1], [1, 1], averaging_ns=35_200_000).stream) == 70_400_000
    assert power.least_trim_ns(power_series([0, 1], [1, 1]).stream) == 0


def test_a_window_with_a_long_gap_is_refused_with_the_recorded_reason(power_series: Build) -> None:
    times = grid(10)
    hole = (times > START + 4 * SECOND) & (times < START + 4 * SECOND + 200 * MS)
    gap = Gap(START + 4 * SECOND, START + 4 * SECOND + 200 * MS, "EBUSY", 19)
    series = power_series(times[~hole], np.full((~hole).sum(), 5.0), gaps=(gap,))
    with pytest.raises(NotCovered, match=r"stream power.som covers 97.5% of the window, 99% needed.*EBUSY"):
        power.energy_joules(series, Window(START + SECOND, START + 9 * SECOND))
    kept = power.energy_joules(series, Window(START + 5 * SECOND, START + 9 * SECOND))
    assert kept.value == pytest.approx(20.0)
    assert kept.quality.covered == 1.0


def test_a_window_beyond_the_samples_is_refused(power_series: Build) -> None:
    series = power_series(grid(1), np.full(101, 5.0))
    with pytest.raises(NotCovered, match=r"power\.som"):
        power.energy_joules(series, Window(START + 2 * SECOND, START + 3 * SECOND))
    with pytest.raises(NotCovered, match="empty"):
        power.energy_joules(series, Window(START + SECOND, START + SECOND))
    with pytest.raises(NotCovered, match="no column watts"):
        power.energy_joules(Series(series.stream, series.t_ns, series.late_ns, {}), Window(START, START + SECOND))


def test_quality_counts_the_samples_inside_and_notes_repeats(power_series: Build) -> None:
    times = grid(2)
    late = np.zeros(times.size)
    late[50:150] = 3 * MS
    series = power_series(times, np.repeat([5.0, 5.01, 5.02], 67), late_ns=late)
    found = power.mean_watts(series, Window(START + 500 * MS, START + 1500 * MS)).quality
    assert (found.samples, found.effective_hz, found.covered) == (101, 101.0, 1.0)
    assert (found.late_p99_ns, found.worst_gap_ns) == (3 * MS, 10 * MS)
    assert any("repeat" in note for note in found.notes)


def test_an_energy_counter_gives_its_increase_across_a_wrap(joule_series: Build) -> None:
    times = grid(10, 100 * MS)
    series = joule_series(times, (990 + 0.2 * np.arange(times.size)) % 1000, wrap=1000, period_ns=100 * MS)
    window = Window(START + 2_050 * MS, START + 8_050 * MS)
    assert power.energy_joules(series, window).value == pytest.approx(12.0)
    assert power.mean_watts(series, window).value == pytest.approx(2.0)


def test_a_gap_in_which_an_energy_counter_could_turn_unseen_is_refused(joule_series: Build) -> None:
    series = joule_series(grid(30, 10 * SECOND), [0, 5, 10, 15], wrap=5000)
    with pytest.raises(NotCovered, match="gap of 10 s; above 5 s its energy counter may have wrapped unseen"):
        power.energy_joules(series, Window(START + SECOND, START + 29 * SECOND))
