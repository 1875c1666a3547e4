"""Batch means know how well the mean of correlated samples is known; s / sqrt(M) does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from telemetry.errors import NotCovered
from telemetry.figures.within_run import (
    batch_means,
    energy_within_run,
    lag_1_correlation,
    power_within_run,
    seconds_within_run,
)
from telemetry.model import Series, Window
from telemetry.stats import t_quantile

Build = Callable[..., Series]
SECOND = 1_000_000_000
TIMES = np.arange(0, 20 * SECOND + 1, SECOND // 100)


def correlated(draw: np.random.Generator, count: int, memory: float) -> np.ndarray:
    """Readings whose deviations fade by `memory` from one to the next."""
    shocks = draw.standard_normal(count) * np.sqrt(1 - memory**2)
    values = np.empty(count)
    values[0] = draw.standard_normal()
    for i in range(1, count):
        values[i] = memory * values[i - 1] + shocks[i]
    return values


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_the_error_of_a_mean_of_correlated_readings_is_told_right(power_series: Build, memory: float) -> None:
    draw = np.random.default_rng(11)
    hits = naive = 0
    for _ in range(200):
        watts = 8.7 + 0.05 * correlated(draw, TIMES.size, memory)
        found = power_within_run(power_series(TIMES, watts), Window(0, 20 * SECOND))
        error = abs(found.mean - 8.7)
        hits += error <= t_quantile(0.975, found.batches - 1) * found.standard_error
        naive += error <= 1.96 * watts.std(ddof=1) / np.sqrt(watts.size)
    assert 0.90 <= hits / 200 <= 0.99
    assert (naive / 200 < 0.6) == (memory > 0)


def test_batches_that_resemble_each_other_are_merged_or_flagged() -> None:
    draw = np.random.default_rng(5)
    assert batch_means(list(draw.standard_normal(32))).batches == 32
    merged = batch_means(list(np.repeat(draw.standard_normal(64), 2)))
    assert (merged.batches, merged.independent) == (64, True)
    drifting = batch_means([float(i) for i in range(32)])
    assert (drifting.batches, drifting.independent) == (8, False)


def test_readings_that_do_not_vary_have_no_error() -> None:
    assert lag_1_correlation([5.0] * 10) == 0.0
    assert batch_means([5.0] * 10).standard_error == 0.0


def test_a_run_too_short_for_batches_is_refused(power_series: Build) -> None:
    with pytest.raises(NotCovered, match=r"0.500 s are too short.*0.8 s are needed"):
        power_within_run(power_series(TIMES, TIMES * 0 + 5.0), Window(SECOND, 3 * SECOND // 2))


def test_executions_of_equal_length_have_no_error_and_unequal_ones_their_own() -> None:
    steady = seconds_within_run(np.arange(0, 20 * SECOND, SECOND // 50), Window(0, 20 * SECOND))
    assert (steady.mean, steady.standard_error) == (pytest.approx(0.02), pytest.approx(0.0, abs=1e-12))
    draw = np.random.default_rng(3)
    lengths = draw.normal(0.02, 0.002, 1000)
    jumpy = seconds_within_run(np.cumsum(lengths * SECOND).astype(np.int64), Window(0, 30 * SECOND))
    assert jumpy.mean == pytest.approx(lengths.mean(), rel=0.01)
    assert jumpy.standard_error == pytest.approx(0.002 / np.sqrt(1000), rel=0.35)


def test_energy_between_completions_varies_less_than_power_over_arbitrary_spans(power_series: Build) -> None:
    """An execution of 0.5 s draws 5 W, then 9 W: batches of whole executions all hold the same energy."""
    watts = np.where(TIMES % (SECOND // 2) < SECOND // 4, 5.0, 9.0)
    completions = np.arange(0, 20 * SECOND + 1, SECOND // 2)
    window = Window(0, 20 * SECOND)
    per_execution = energy_within_run(power_series(TIMES, watts), completions, window)
    assert per_execution.mean == pytest.approx(3.5, rel=0.01)
    over_time = power_within_run(power_series(TIMES, watts), window)
    assert per_execution.standard_error / per_execution.mean < over_time.standard_error / over_time.mean / 5


def test_too_few_executions_for_batches_are_refused(power_series: Build) -> None:
    window = Window(0, 20 * SECOND)
    with pytest.raises(NotCovered, match=r"7 executions in 20.000 s make no 8 batches"):
        seconds_within_run(np.arange(8) * 2 * SECOND, window)
    with pytest.raises(NotCovered, match="0 executions"):
        energy_within_run(power_series(TIMES, TIMES * 0 + 5.0), np.array([], dtype=np.int64), window)
