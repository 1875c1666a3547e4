"""Throughput, energy per execution and latency: whatever is counted by execution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.figures import energy, latency, power, throughput
from telemetry.model import Series, Window

Build = Callable[..., Series]
MS = 1_000_000
SECOND = 1000 * MS
TIMES = np.arange(0, 61 * SECOND, 10 * MS)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(SECOND, 20 * SECOND), min_size=2, max_size=60, unique=True),
    st.sampled_from([None, 8_800_000, 35_200_000]),
)
def test_energy_per_execution_is_mean_power_over_throughput_exactly(
    power_series: Build, seed: int, completions: list[int], averaging_ns: int | None
) -> None:
    draw = np.random.default_rng(seed)
    series = power_series(TIMES, draw.uniform(4, 9, TIMES.size), averaging_ns=averaging_ns)
    window = Window(SECOND // 2, 21 * SECOND)
    found = energy.per_execution(series, np.asarray(completions), window, idle_watts=4.8)
    span = Window(found.first_ns, found.last_ns)
    watts = power.mean_watts(series, span).value
    rate = throughput.executions_per_second(np.asarray(completions), window).value
    assert found.total.value == pytest.approx(watts / rate, rel=1e-12)
    assert found.above_idle is not None
    assert found.above_idle.value == pytest.approx((watts - 4.8) / rate, rel=1e-9, abs=1e-12)
    assert found.count == len(completions) - 1


def test_counting_between_arbitrary_instants_would_be_wrong_by_up_to_one_execution() -> None:
    """The rules give 3.3 % for an execution of 2 s in 60 s; between completions the count is exact."""
    completions = np.arange(1, 31) * 2 * SECOND - SECOND // 2
    window = Window(0, 59 * SECOND)
    naive = np.sum((completions > window.start_ns) & (completions <= window.end_ns)) / window.seconds
    assert abs(naive / 0.5 - 1) > 0.016
    assert throughput.executions_per_second(completions, window).value == pytest.approx(0.5, rel=1e-12)


def test_completions_of_several_threads_may_come_in_any_order() -> None:
    mixed = np.array([5, 1, 3, 2, 4]) * SECOND
    span = throughput.whole_executions(mixed, Window(0, 4 * SECOND))
    assert (span.window, span.count) == (Window(SECOND, 4 * SECOND), 3)


@pytest.mark.parametrize("completions", [[], [5 * SECOND], [5 * SECOND, 5 * SECOND], [50 * SECOND, 60 * SECOND]])
def test_fewer_than_two_completions_are_no_throughput(completions: list[int]) -> None:
    with pytest.raises(NotCovered, match="2 needed: measure for longer"):
        throughput.executions_per_second(np.asarray(completions, dtype=np.int64), Window(0, 20 * SECOND))


def test_without_completion_times_power_over_the_markers_times_time_over_frames(power_series: Build) -> None:
    watts = np.where(TIMES < 30 * SECOND, 8.0, 9.0)
    markers = Window(10 * SECOND, 50 * SECOND)
    span = throughput.summed_frames(markers, frames=2514, seconds=40.012)
    found = energy.per_execution_over(power_series(TIMES, watts), span)
    assert found.total.value == pytest.approx(8.5 * 40.012 / 2514, rel=1e-4)
    assert throughput.throughput(span).value == pytest.approx(2514 / 40.012)


@pytest.mark.parametrize(("frames", "seconds"), [(0, 60.0), (10, 0.0)])
def test_a_command_that_did_nothing_gives_no_span(frames: int, seconds: float) -> None:
    with pytest.raises(NotCovered, match="no execution to divide by"):
        throughput.summed_frames(Window(0, SECOND), frames, seconds)


def test_reciprocal_latency_says_that_it_is_an_equivalent() -> None:
    rate = throughput.executions_per_second(np.arange(0, SECOND, 20 * MS), Window(0, SECOND))
    found = throughput.reciprocal_latency(rate)
    assert found.value == pytest.approx(0.02)
    assert "an equivalent, not a measured latency" in found.quality.notes


def test_mean_latency_and_its_throughput_are_equations_26_and_27() -> None:
    """Table 9 of the paper: 21.486 ms is 46.542 executions per second."""
    start = np.arange(2500) * 22 * MS
    end = start + 21_486_000
    mean = latency.mean_latency(start, end, Window(0, 60 * SECOND))
    assert (mean.value, mean.quality.samples) == (pytest.approx(0.021486), 2500)
    assert latency.latency_throughput(mean).value == pytest.approx(46.542, abs=5e-4)


def test_percentiles_are_left_out_when_too_few_executions_were_timed() -> None:
    start = np.arange(50) * 22 * MS
    end = start + (1 + np.arange(50)) * 100_000
    found = latency.percentiles(start, end, Window(0, 60 * SECOND))
    assert list(found) == [0.5, 0.95]
    assert found[0.5].value == pytest.approx(2.55e-3)
    assert found[0.95].name == "latency.p95"


def test_latency_of_executions_that_were_not_timed_is_refused() -> None:
    with pytest.raises(NotCovered, match="not timed"):
        latency.percentiles(None, np.arange(10), Window(0, 10))
    with pytest.raises(NotCovered, match="no execution lies inside"):
        latency.mean_latency(np.array([5]), np.array([15]), Window(6, 20))
