"""Finding a run without markers, on traces of a real board and on traces made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.figures import power
from telemetry.figures.segments import best_span, find_run
from telemetry.model import Series

Build = Callable[..., Series]
SECOND = 1_000_000_000


@pytest.mark.shared
@pytest.mark.parametrize(
    ("trace", "joules", "seconds", "above_idle"), [("CNN", 62.7, 10.5, 9.8), ("CNV", 48.8, 7.4, 11.8)]
)
def test_the_dpu_run_of_a_real_trace_is_found(
    shared_dir: Path, power_series: Build, trace: str, joules: float, seconds: float, above_idle: float
) -> None:
    table = np.loadtxt(shared_dir / f"traces/kv260_ina260_pm_{trace}_int8.csv", delimiter=",", skiprows=1)
    series = power_series(np.rint(table[:, 1] * SECOND), table[:, 2] / 1000, period_ns=SECOND // 10)
    run = find_run(series)
    total = power.energy_joules(series, run.window).value
    assert run.window.seconds == pytest.approx(seconds, rel=0.02)
    assert total == pytest.approx(joules, rel=0.02)
    assert total - run.idle_watts * run.window.seconds == pytest.approx(above_idle, rel=0.04)
    assert run.idle_watts == pytest.approx(5.025, abs=0.01)


@given(
    seed=st.integers(0, 2**32 - 1),
    idle=st.floats(1, 10),
    # Half a step of 5 SD of the noise: at 3 SD one reading in a thousand lies on the wrong side and moves an edge.
    step=st.floats(0.5, 10),
    begin=st.integers(5, 400),
    length=st.integers(30, 500),
)
def test_edges_and_levels_of_a_step_are_found(
    power_series: Build, seed: int, idle: float, step: float, begin: int, length: int
) -> None:
    draw = np.random.default_rng(seed)
    times = np.arange(1000) * SECOND // 10
    watts = idle + step * ((times >= times[begin]) & (times < times[begin + length])) + draw.normal(0, 0.05, times.size)
    run = find_run(power_series(times, watts))
    assert run.window.start_ns == pytest.approx(times[begin], abs=SECOND // 10)
    assert run.window.end_ns == pytest.approx(times[begin + length], abs=SECOND // 10)
    assert (run.idle_watts, run.busy_watts) == pytest.approx((idle, idle + step), abs=0.05)


@given(st.integers(0, 2**32 - 1))
def test_noise_alone_is_no_run(power_series: Build, seed: int) -> None:
    watts = 5 + np.random.default_rng(seed).normal(0, 0.05, 1000)
    with pytest.raises(NotCovered, match=r"no run|no idle"):
        find_run(power_series(np.arange(1000) * SECOND // 10, watts))


def test_a_run_without_idle_on_both_sides_is_refused(power_series: Build) -> None:
    times = np.arange(100) * SECOND // 10
    with pytest.raises(NotCovered, match="no idle before and after"):
        find_run(power_series(times, np.where(times < 5 * SECOND, 5.0, 8.0)))
    with pytest.raises(NotCovered, match="too few"):
        find_run(power_series([0, 1, 2], [5.0, 8.0, 5.0]))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_the_best_span_has_the_largest_sum_of_all(scores: list[int]) -> None:
    begin, end = best_span(np.asarray(scores, dtype=np.float64))
    best = max(sum(scores[i:j]) for i in range(len(scores)) for j in range(i, len(scores) + 1))
    assert sum(scores[begin:end]) == best
