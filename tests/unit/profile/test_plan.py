"""The order of runs."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.profile.plan import ORDERS, plan_runs


def formal_order(order, models=2, runs=3):
    return "".join("AB"[run.model] for run in plan_runs(models, runs, 0, order))


def test_formal_runs_alternate_as_in_the_paper():
    assert formal_order("alternate") == "ABABAB"


def test_abba_turns_the_order_round_every_time():
    assert formal_order("abba") == "ABBAAB"


def test_sequential_finishes_one_model_before_the_next():
    assert formal_order("sequential") == "AAABBB"


def test_smoke_runs_of_all_models_come_first():
    plan = plan_runs(2, 1, 2, "alternate")

    assert [(run.phase, run.model, run.index) for run in plan] == [
        ("smoke", 0, 0),
        ("smoke", 0, 1),
        ("smoke", 1, 0),
        ("smoke", 1, 1),
        ("formal", 0, 0),
        ("formal", 1, 0),
    ]


@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 3), st.sampled_from(ORDERS))
def test_every_order_makes_each_run_exactly_once(models, runs, smoke, order):
    plan = plan_runs(models, runs, smoke, order)

    assert len(set(plan)) == len(plan) == models * (runs + smoke)
    assert set(Counter(run.model for run in plan).values()) == {runs + smoke}
    for model in range(models):
        assert [run.index for run in plan if run.model == model and run.phase == "formal"] == list(range(runs))


def test_abba_cancels_a_linear_drift_over_two_rounds():
    plan = plan_runs(2, 2, 0, "abba")
    places = {model: [i for i, run in enumerate(plan) if run.model == model] for model in (0, 1)}

    assert sum(places[0]) == sum(places[1])
