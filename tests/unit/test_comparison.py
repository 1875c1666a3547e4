"""Ratios of two models and the gate that decides on them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from telemetry.comparison import (
    Answer,
    between_groups,
    between_sessions,
    judge,
    parse_limit,
    spread_of_sessions,
    within_session,
)
from telemetry.errors import ConfigError
from telemetry.stats import Interval

RUNS = st.lists(st.floats(0.5, 2), min_size=2, max_size=8)


def test_pairs_of_one_session_are_students_t_on_log_ratios() -> None:
    before, after = [9.861, 9.868, 9.857, 9.866], [0.1776, 0.1779, 0.1778, 0.1780]
    found = within_session(before, after)
    logs = np.log(after) - np.log(before)
    low, high = reference.t.interval(0.95, 3, logs.mean(), logs.std(ddof=1) / 2)
    assert (found.ratio.low, found.ratio.high) == (pytest.approx(math.exp(low)), pytest.approx(math.exp(high)))
    assert (found.method, found.degrees) == ("paired", 3)


@given(RUNS, RUNS)
def test_without_shared_errors_two_sessions_are_welchs_test(before: list[float], after: list[float]) -> None:
    first, second = np.log(before), np.log(after)
    if min(first.std(), second.std()) < 1e-6:
        return
    found = between_sessions(before, after, 0, 0)
    test = reference.ttest_ind(second, first, equal_var=False)
    for bound in (found.ratio.low, found.ratio.high):
        shifted = reference.ttest_ind(second - math.log(bound), first, equal_var=False)
        assert shifted.pvalue == pytest.approx(0.05, rel=1e-5)
    assert math.log(found.ratio.value) == pytest.approx(second.mean() - first.mean())
    assert (found.ratio.low > 1 or found.ratio.high < 1) == (test.pvalue < 0.05)


def test_what_a_session_shares_widens_the_interval_whatever_the_number_of_runs() -> None:
    runs = list(1 + 0.001 * np.random.default_rng(1).standard_normal(1000))
    found = between_sessions(runs, runs, 0.003, 0.004)
    assert (found.ratio.high - 1) == pytest.approx(1.96 * 0.005, rel=0.02)


def test_the_spread_of_sessions_is_what_their_runs_do_not_explain() -> None:
    draw = np.random.default_rng(2)
    levels = 0.003 * draw.standard_normal(400)
    sessions = [list(np.exp(level + 0.001 * draw.standard_normal(5))) for level in levels]
    assert spread_of_sessions(sessions) == pytest.approx(0.003, rel=0.1)
    alike = [list(np.exp(0.001 * draw.standard_normal(5))) for _ in range(400)]
    assert spread_of_sessions(alike) < 0.0003
    assert spread_of_sessions([[1.0, 1.01], [1.01, 1.0]]) == 0.0


@given(RUNS, RUNS, st.floats(0, 0.01), st.floats(0, 0.01))
def test_one_session_a_side_takes_the_spread_it_is_given(
    before: list[float], after: list[float], sensor_u: float, spread: float
) -> None:
    shared = math.hypot(sensor_u, spread)
    one, other = between_groups([before], [after], sensor_u, spread), between_sessions(before, after, shared, shared)
    for name in ("value", "low", "high"):
        assert getattr(one.ratio, name) == pytest.approx(getattr(other.ratio, name), rel=1e-9)


def test_several_sessions_a_side_count_as_one_value_each() -> None:
    before, after = [[1.0, 1.001], [1.003, 1.004], [0.998, 0.999]], [[1.02, 1.021], [1.019, 1.018], [1.023, 1.022]]
    found = between_groups(before, after, 0.0, 0.5)
    means = [[np.log(session).mean() for session in side] for side in (before, after)]
    test = reference.ttest_ind(means[1], means[0], equal_var=False)
    interval = test.confidence_interval(0.95)
    assert found.ratio.low == pytest.approx(math.exp(interval.low), rel=1e-9)
    assert found.ratio.high == pytest.approx(math.exp(interval.high), rel=1e-9)


def test_a_lone_session_borrows_the_spread_of_the_other_side() -> None:
    draw = np.random.default_rng(4)
    covered = 0
    for _ in range(400):
        sessions = [list(np.exp(0.003 * draw.standard_normal() + 0.001 * draw.standard_normal(5))) for _ in range(6)]
        found = between_groups(sessions[:5], sessions[5:], 0.0, 0.0)
        covered += found.ratio.low <= 1 <= found.ratio.high
    assert 0.92 <= covered / 400 <= 0.985


def test_ratios_of_values_that_are_not_positive_are_refused() -> None:
    with pytest.raises(ValueError, match="not positive"):
        between_sessions([1.0, 0.0], [1.0, 1.0], 0, 0)


@pytest.mark.parametrize(
    ("low", "high", "change", "answer"),
    [
        (1.011, 1.03, 0.01, Answer.REGRESSION),
        (0.98, 1.009, 0.01, Answer.PASS),
        (1.005, 1.015, 0.01, Answer.INCONCLUSIVE),
        (0.97, 0.989, -0.01, Answer.REGRESSION),
        (0.991, 1.2, -0.01, Answer.PASS),
        (0.985, 0.995, -0.01, Answer.INCONCLUSIVE),
        (0.5, 1.5, 0.0, Answer.INCONCLUSIVE),
        (0.5, 0.9, -0.0, Answer.REGRESSION),
        (0.5, 0.9, 0.0, Answer.PASS),
    ],
)
def test_a_gate_has_three_answers(low: float, high: float, change: float, answer: Answer) -> None:
    assert judge(Interval((low + high) / 2, low, high), change) is answer


@pytest.mark.parametrize(
    ("text", "metric", "change"),
    [
        ("energy_per_execution:+1%", "energy_per_execution", 0.01),
        ("throughput:-2.5%", "throughput", -0.025),
        ("power.som:+0%", "power.som", 0.0),
        ("throughput:-0%", "throughput", -0.0),
    ],
)
def test_a_limit_is_read_with_its_sign(text: str, metric: str, change: float) -> None:
    limit = parse_limit(text)
    assert (limit.metric, limit.change) == (metric, pytest.approx(change))
    assert math.copysign(1, limit.change) == math.copysign(1, change)


@pytest.mark.parametrize(
    "text", ["energy", "energy:1%", "energy:+1", "energy:+%", ":+1%", "energy:-100%", "energy:+1%x"]
)
def test_a_limit_that_is_none_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match=r"METRIC|100 %"):
        parse_limit(text)
