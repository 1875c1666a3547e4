"""Busy share and runs of a compute unit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.figures import busy
from telemetry.model import Float64Array, Int64Array, Series, Window

Build = Callable[..., Series]
MS = 1_000_000
SECOND = 1000 * MS
CU = "DPUCZDX8G_1"
IDLE, RUNNING, DONE = 0x4, 0x1, 0x6


def slots(seconds: float, draw: np.random.Generator | None) -> Int64Array:
    """Sample times: one per 1 ms slot, at a random place in it, or on its edge if there is no `draw`."""
    edges = np.arange(0, int(seconds * SECOND), MS)
    return edges if draw is None else edges + draw.integers(0, MS, edges.size)


def square_wave(times: Int64Array, period_ns: int, share: float, phase_ns: int) -> Int64Array:
    """Status words of a unit that runs for `share` of each period."""
    return np.where((times + phase_ns) % period_ns < share * period_ns, RUNNING, IDLE)


def errors_in_points(
    cu_series: Build, estimate: Callable[[Series, str, Window], busy.Figure], jitter: bool
) -> Float64Array:
    """Errors of 200 runs of 10 s of a workload of exactly 20 ms, 90 % busy, at random phases."""
    draw = np.random.default_rng(20)
    errors = []
    for _ in range(200):
        times = slots(10.1, draw if jitter else None)
        series = cu_series(times, square_wave(times, 20 * MS, 0.9175, int(draw.integers(0, 20 * MS))))
        errors.append(100 * (estimate(series, CU, Window(20 * MS, 10_020 * MS)).value - 0.9175))
    return np.asarray(errors)


def test_random_instants_and_trapezoid_weights_do_not_lock_to_a_workload_of_20_ms(cu_series: Build) -> None:
    """The rules give an SD of 0.11 points in 10 s, and up to 2.65 points for a fixed 1 ms."""
    random, fixed = (errors_in_points(cu_series, busy.busy_share, jitter) for jitter in (True, False))
    assert abs(random.mean()) < 3 * random.std() / np.sqrt(random.size)
    assert 0.08 < random.std(ddof=1) < 0.14
    assert np.abs(fixed).max() > 1.0


def test_left_hold_at_random_instants_is_unbiased_but_three_times_wider(cu_series: Build) -> None:
    """The rules give 0.39 points for the paper's Equation 20."""
    held = errors_in_points(cu_series, busy.busy_share_left_hold, jitter=True)
    assert abs(held.mean()) < 3 * held.std() / np.sqrt(held.size)
    assert 0.25 < held.std(ddof=1) < 0.5


def test_left_hold_is_equation_20_on_the_samples_between_two_markers(cu_series: Build) -> None:
    times = np.array([0, 10, 20, 40, 50]) * 100_000
    series = cu_series(times, [IDLE, RUNNING, RUNNING, DONE, IDLE])
    assert busy.busy_share_left_hold(series, CU, Window(0, 5 * MS)).value == pytest.approx(30 / 50)


def test_the_trapezoid_gives_each_sample_half_the_span_between_its_neighbours(cu_series: Build) -> None:
    times = np.array([0, 10, 20, 40, 50]) * 100_000
    series = cu_series(times, [IDLE, RUNNING, RUNNING, DONE, IDLE])
    weights = (40 - 10) / 2 + (20 - 0) / 2
    assert busy.busy_share(series, CU, Window(0, 5 * MS)).value == pytest.approx(weights / 50)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(10, 990), min_size=3, max_size=3, unique=True))
def test_busy_time_of_adjacent_windows_adds_up(cu_series: Build, seed: int, edges: list[int]) -> None:
    draw = np.random.default_rng(seed)
    times = slots(1.0, draw)
    series = cu_series(times, draw.choice([IDLE, RUNNING, DONE, 0xE, 0], times.size) | (np.arange(times.size) == 0) * 4)
    first, middle, last = (edge * MS for edge in sorted(edges))

    def seconds(start_ns: int, end_ns: int) -> float:
        window = Window(start_ns, end_ns)
        return busy.busy_share(series, CU, window).value * window.seconds

    assert seconds(first, middle) + seconds(middle, last) == pytest.approx(seconds(first, last))


def test_status_0_holds_the_last_state(cu_series: Build) -> None:
    times = np.arange(0, 100 * MS, MS)
    status = np.full(times.size, RUNNING)
    status[10:90] = 0
    assert busy.busy_share(cu_series(times, status), CU, Window(20 * MS, 80 * MS)).value == 1.0
    status[9] = DONE
    assert busy.busy_share(cu_series(times, status), CU, Window(20 * MS, 80 * MS)).value == 0.0


def test_a_state_that_was_never_read_is_refused(cu_series: Build) -> None:
    times = np.arange(0, 100 * MS, MS)
    status = np.where(times < 30 * MS, 0, IDLE)
    with pytest.raises(NotCovered, match="unknown"):
        busy.busy_share(cu_series(times, status), CU, Window(20 * MS, 80 * MS))
    assert busy.busy_share(cu_series(times, status), CU, Window(40 * MS, 80 * MS)).value == 0.0


def test_a_crashed_unit_has_no_busy_share(cu_series: Build) -> None:
    times = np.arange(0, 100 * MS, MS)
    status = np.where(times < 50 * MS, RUNNING, 0xFFFFFFFF)
    with pytest.raises(NotCovered, match=r"0xffffffff.*reload the firmware"):
        busy.busy_share(cu_series(times, status), CU, Window(20 * MS, 80 * MS))
    assert busy.busy_share(cu_series(times, status), CU, Window(20 * MS, 40 * MS)).value == 1.0


def test_intervals_above_5_ms_count_as_not_covered_and_are_left_out(cu_series: Build) -> None:
    times = np.arange(0, 1000 * MS, MS)
    status = np.where((times >= 500 * MS) & (times < 510 * MS), RUNNING, IDLE)
    kept = (times < 500 * MS) | (times > 507 * MS)
    found = busy.busy_share(cu_series(times[kept], status[kept]), CU, Window(100 * MS, 900 * MS))
    assert found.quality.covered == pytest.approx((800 - 9) / 800)
    assert found.value == pytest.approx(1.5 / 791)
    assert found.quality.worst_gap_ns == 9 * MS


def test_a_window_unseen_for_more_than_2_percent_is_refused(cu_series: Build) -> None:
    times = np.arange(0, 1000 * MS, MS)
    kept = (times < 500 * MS) | (times > 520 * MS)
    series = cu_series(times[kept], np.full(kept.sum(), IDLE))
    with pytest.raises(NotCovered, match=r"stream cu covers 97.2% of the window, 98% needed; worst gap 22.0 ms"):
        busy.busy_share(series, CU, Window(100 * MS, 900 * MS))


def test_lateness_is_told_apart_by_the_units_state(cu_series: Build) -> None:
    times = np.arange(0, 1000 * MS, MS)
    status = np.where(times % (10 * MS) < 5 * MS, RUNNING, IDLE)
    series = cu_series(times, status, late_ns=np.where(status == IDLE, 2 * MS, MS // 10))
    window = Window(10 * MS, 900 * MS)
    assert busy.lateness_by_state(series, CU, window) == busy.LatenessByState(MS // 10, 2 * MS)
    assert "while busy 0.10 ms, while idle 2.00 ms" in busy.busy_share(series, CU, window).quality.notes[-1]
    assert busy.lateness_by_state(cu_series(times, status * 0 + IDLE), CU, window).busy_p99_ns is None


def test_runs_are_counted_from_before_the_window_to_after_it(cu_series: Build) -> None:
    times = np.arange(0, 1000 * MS, MS)
    usage = np.clip((times - 95 * MS) // (10 * MS), 0, 80) + 1000
    series = cu_series(times, np.full(times.size, IDLE), usage=usage)
    found = busy.cu_runs(series, CU, Window(90 * MS + 1, 950 * MS))
    assert (found.value, found.quality.notes) == (80, ("commands dispatched",))
    completed = cu_series(times, np.full(times.size, IDLE), usage=usage + 1, completed=usage)
    assert busy.cu_runs(completed, CU, Window(90 * MS + 1, 950 * MS)).quality.notes == ("commands completed",)


def test_a_reload_between_two_counts_is_refused(cu_series: Build) -> None:
    times = np.arange(0, 1000 * MS, MS)
    series = cu_series(times, np.full(times.size, IDLE), usage=np.where(times < 500 * MS, 70, 3))
    with pytest.raises(NotCovered, match="went back"):
        busy.cu_runs(series, CU, Window(100 * MS, 900 * MS))
    with pytest.raises(NotCovered, match="before and after"):
        busy.cu_runs(series, CU, Window(100 * MS, 2000 * MS))


def test_a_unit_that_was_not_recorded_is_named(cu_series: Build) -> None:
    with pytest.raises(NotCovered, match=r"no column status\.DPUCZDX8G_2; it has status\.DPUCZDX8G_1"):
        busy.busy_share(cu_series([0, MS], [IDLE, IDLE]), "DPUCZDX8G_2", Window(0, MS))
