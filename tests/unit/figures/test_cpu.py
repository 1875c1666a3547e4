"""Processor shares from the counters of /proc/stat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.figures import cpu
from telemetry.model import Series, Window

Build = Callable[..., Series]
MS = 1_000_000
SECOND = 1000 * MS
TIMES = np.arange(0, 30 * SECOND + 1, SECOND)


def ticks(seconds: np.ndarray) -> np.ndarray:
    """As the kernel counts: whole hundredths of a second."""
    return np.floor(seconds * 100) / 100


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.integers(0, 10 * SECOND), st.integers(0, 8 * SECOND))
def test_steady_load_is_read_within_a_tick_at_each_edge(
    cpu_series: Build, shares: list[float], begin: int, more: int
) -> None:
    seconds = TIMES / SECOND
    series = cpu_series(TIMES, [ticks(share * seconds) for share in shares], [ticks(seconds)] * 4)
    window = Window(begin, begin + 8 * SECOND + more)
    found = cpu.core_shares(series, window)
    for core, share in enumerate(shares):
        assert found[f"cpu{core}"].value == pytest.approx(share, abs=0.02 / window.seconds + 1e-9)
    mean = sum(one.value for one in found.values()) / 4
    assert cpu.system_share(series, window).value == pytest.approx(mean)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 30_000), min_size=3, max_size=3, unique=True))
def test_busy_time_of_adjacent_windows_adds_up(cpu_series: Build, seed: int, edges: list[int]) -> None:
    draw = np.random.default_rng(seed)
    busy = np.cumsum(draw.uniform(0, 1, TIMES.size))
    series = cpu_series(TIMES, [busy], [TIMES / SECOND])
    first, middle, last = (edge * MS for edge in sorted(edges))
    if min(middle - first, last - middle) < 2 * SECOND:
        with pytest.raises(NotCovered, match="shorter than 2 samples"):
            [cpu.core_shares(series, Window(*pair)) for pair in ((first, middle), (middle, last))]
        return
    seconds = [
        cpu.core_shares(series, window)["cpu0"].value * window.seconds
        for window in (Window(first, middle), Window(middle, last), Window(first, last))
    ]
    assert seconds[0] + seconds[1] == pytest.approx(seconds[2])


def test_the_mean_of_percentages_differs_from_the_share_when_intervals_do(cpu_series: Build) -> None:
    times = np.array([0, 1, 2, 6, 7, 8]) * SECOND
    busy = np.array([0, 1, 2, 2, 3, 4])
    series = cpu_series(times, [busy], [times / SECOND])
    window = Window(0, 8 * SECOND)
    assert cpu.system_share(series, window).value == pytest.approx(4 / 8)
    assert cpu.system_share_of_intervals(series, window).value == pytest.approx((1 + 1 + 0 + 1 + 1) / 5)


def test_the_mean_of_percentages_equals_the_share_when_intervals_are_equal(cpu_series: Build) -> None:
    busy = np.cumsum(np.random.default_rng(1).uniform(0, 1, TIMES.size))
    series = cpu_series(TIMES, [busy], [TIMES / SECOND])
    window = Window(2 * SECOND, 20 * SECOND)
    gross, paper = cpu.system_share(series, window), cpu.system_share_of_intervals(series, window)
    assert gross.value == pytest.approx(paper.value)
    assert (gross.source, paper.source) == ("c2fdeploy.txt, Eq. 21", "c2fdeploy.txt, Eq. 21")


def test_the_observers_own_time_is_taken_off(cpu_series: Build, observer_series: Build) -> None:
    seconds = TIMES / SECOND
    series = cpu_series(TIMES, [0.5 * seconds, 0.1 * seconds], [seconds, seconds])
    window = Window(2_500 * MS, 20_500 * MS)
    observers = [cpu.observer_seconds(observer_series(TIMES, share * seconds), window) for share in (0.08, 0.02)]
    assert observers[0].value == pytest.approx(0.08 * 18)
    net = cpu.system_share_net(cpu.system_share(series, window), observers, 2, window)
    assert net.value == pytest.approx(0.3 - 0.05)


def test_a_gap_at_an_edge_is_refused_and_one_inside_is_harmless(cpu_series: Build) -> None:
    kept = (TIMES <= 5 * SECOND) | (TIMES >= 10 * SECOND)
    times = TIMES[kept]
    series = cpu_series(times, [0.25 * times / SECOND], [times / SECOND])
    assert cpu.system_share(series, Window(2 * SECOND, 20 * SECOND)).value == pytest.approx(0.25)
    with pytest.raises(NotCovered, match=r"edge of the window lies in a gap of 5.000 s of stream cpu"):
        cpu.system_share(series, Window(6 * SECOND, 20 * SECOND))


def test_a_core_that_went_offline_and_a_counter_that_went_back_are_refused(cpu_series: Build) -> None:
    seconds = TIMES / SECOND
    window = Window(2 * SECOND, 20 * SECOND)
    with pytest.raises(NotCovered, match="time of cpu1 did not advance"):
        cpu.core_shares(cpu_series(TIMES, [seconds, seconds * 0], [seconds, seconds * 0 + 7]), window)
    with pytest.raises(NotCovered, match=r"counter total\.cpu0 of stream cpu went back"):
        cpu.core_shares(cpu_series(TIMES, [seconds], [np.where(TIMES < 9 * SECOND, seconds, seconds - 5)]), window)


def test_a_stream_without_cores_is_refused(observer_series: Build) -> None:
    with pytest.raises(NotCovered, match="describes no core"):
        cpu.cores(observer_series(TIMES, TIMES / SECOND))


def test_intervals_that_did_not_end_in_the_window_give_no_mean_of_percentages(cpu_series: Build) -> None:
    series = cpu_series(TIMES, [TIMES / SECOND], [TIMES / SECOND])
    with pytest.raises(NotCovered, match="no whole interval"):
        cpu.system_share_of_intervals(series, Window(2_100 * MS, 3_500 * MS))
