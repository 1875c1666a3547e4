"""How many runs find a change: against scipy's noncentral t and against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from telemetry.comparison import Answer, between_sessions, judge
from telemetry.planning import Spread, found_probability, found_probability_between, plan


@settings(max_examples=30)
@given(st.floats(0.012, 0.1), st.floats(0.002, 0.05), st.integers(2, 40))
def test_the_chance_of_finding_a_change_is_a_noncentral_t(change: float, sd: float, pairs: int) -> None:
    shift = (math.log1p(change) - math.log1p(0.01)) / (sd / math.sqrt(pairs))
    if shift > 30:
        return
    expected = reference.nct.sf(reference.t.ppf(0.975, pairs - 1), pairs - 1, shift)
    assert found_probability(change, 0.01, sd, pairs) == pytest.approx(expected, abs=1e-4)


def test_a_loss_is_found_like_a_growth_of_the_same_size() -> None:
    down = found_probability(-0.02, -0.01, 0.007, 5)
    assert down == pytest.approx(found_probability(1 / 0.98 - 1, 1 / 0.99 - 1, 0.007, 5))


@pytest.mark.parametrize(("change", "limit"), [(0.01, 0.01), (0.005, 0.01), (-0.02, 0.01), (0.0, 0.0)])
def test_a_change_within_the_limit_cannot_be_planned_for(change: float, limit: float) -> None:
    with pytest.raises(ValueError, match="no number of runs finds it"):
        found_probability(change, limit, 0.001, 5)


def test_runs_that_do_not_spread_find_everything() -> None:
    assert found_probability(0.02, 0.01, 0.0, 2) == 1.0
    assert found_probability_between(0.02, 0.01, 0.0, 2, 0.0) == 1.0


def test_longer_runs_average_out_what_varies_within_them_and_nothing_else() -> None:
    spread = Spread(runs=0.005, within=0.004, seconds=10)
    assert spread.of_runs_of(10) == pytest.approx(0.005)
    assert spread.of_runs_of(40) == pytest.approx(math.hypot(0.003, 0.002))
    assert spread.of_runs_of(1e12) == pytest.approx(0.003)
    assert Spread(runs=0.001, within=0.004, seconds=10).of_runs_of(10) == pytest.approx(0.001)


def test_a_plan_gives_the_fewest_runs_of_each_length() -> None:
    spread = Spread(runs=0.005, within=0.004, seconds=10)
    rows = plan(0.02, 0.01, spread, lengths=(10, 60))
    assert [row.seconds for row in rows] == [10, 60]
    for row in rows:
        sd = math.sqrt(2) * spread.of_runs_of(row.seconds)
        assert row.probability == found_probability(0.02, 0.01, sd, row.runs) >= 0.9
        assert found_probability(0.02, 0.01, sd, row.runs - 1) < 0.9
        assert row.total_seconds == 2 * row.runs * row.seconds
    assert rows[1].runs < rows[0].runs


def test_a_length_that_no_number_of_runs_rescues_is_left_out() -> None:
    assert plan(0.011, 0.01, Spread(0.05, 0.0, 10), lengths=(10,)) == []


def test_two_sessions_find_what_the_plan_says() -> None:
    draw = np.random.default_rng(4)
    found = 0
    for _ in range(1000):
        levels = 0.0033 * draw.standard_normal(2)
        logs = [np.exp(level + 0.002 * draw.standard_normal(5)) for level in levels]
        ratio = between_sessions(list(logs[0]), list(1.02 * logs[1]), 0.0033, 0.0033).ratio
        found += judge(ratio, 0.01) is Answer.REGRESSION
    assert found / 1000 == pytest.approx(found_probability_between(0.02, 0.01, 0.002, 5, 0.0033), abs=0.05)
