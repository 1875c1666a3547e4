"""Plans made from sessions."""

from __future__ import annotations

import pytest

from kv260_runtime.compare.comparing import Assumptions
from kv260_runtime.compare.planner import make_plan, parse_wanted, spread_of
from kv260_runtime.errors import KvbenchError
from telemetry.comparison import Limit
from telemetry.planning import found_probability
from telemetry.stats import sample_sd
from tests.unit.compare.sessions import lone, model, session, side

RUNS = [0.1776, 0.1779, 0.1778, 0.1780, 0.1777]
ENERGY = "energy_per_execution.som"


def planned(text, limits=(), before=None, after=None, **assumed):
    return make_plan(parse_wanted(text), before or lone("a.kvs", *RUNS), after, limits, Assumptions(**assumed))


def test_a_plan_without_a_limit_finds_any_change_at_all():
    found = planned("energy:0.2%")

    assert (found.metric, found.change, found.limit) == (ENERGY, 0.002, 0.0)
    assert [row.duration_seconds for row in found.rows] == [10, 20, 30, 60, 62, 120, 300]
    assert all(row.probability >= 0.9 for row in found.rows)
    sd = 2**0.5 * found.spread.runs
    one = found.rows[0]
    assert found_probability(0.002, 0.0, sd, one.runs - 1) < 0.9
    assert one.total_seconds == 2 * one.runs * (10 + 2 * 3)


def test_the_limit_of_the_same_metric_is_what_a_change_must_exceed():
    wide, narrow = (planned("energy:2%", [Limit("energy", limit)]) for limit in (0.0, 0.018))

    assert narrow.limit == 0.018
    assert narrow.rows[0].runs > wide.rows[0].runs
    with pytest.raises(KvbenchError, match="does not exceed a limit"):
        planned("energy:1%", [Limit("energy", 0.01)])


def test_without_a_sign_a_change_is_for_the_worse():
    before = side(session(model(throughput=[49.0, 49.1, 49.05])))

    assert planned("throughput:1%", before=before).change == -0.01
    assert planned("throughput:+1%", before=before).change == 0.01


def test_pairs_of_one_session_spread_less_than_runs_that_drift_together():
    drift = [1.0, 1.01, 1.02, 1.03]
    made = session(
        model("m", energy_per_execution__som=drift),
        model("n", energy_per_execution__som=[2 * value for value in (1.0001, 1.0101, 1.0199, 1.0301)]),
    )
    paired = spread_of(ENERGY, side(made), side(made, name="n"))

    assert paired.runs < 0.0002
    assert spread_of(ENERGY, side(made), None).runs == pytest.approx(sample_sd(drift), rel=0.02)


def test_what_varies_inside_a_run_averages_out_in_longer_ones():
    jumpy = planned("energy:0.3%", before=lone("a.kvs", *RUNS, within=sample_sd(RUNS) / 0.1778))
    lasting = planned("energy:0.3%")

    assert jumpy.rows[0].runs > jumpy.rows[-1].runs
    assert lasting.rows[0].runs == lasting.rows[-1].runs
    assert jumpy.note is None and "not assumed to spread less" in lasting.note


def test_two_sessions_find_a_small_change_more_rarely_than_one():
    row = planned("energy:1%").rows[0]
    alike = planned("energy:1%", spread=0.0, same_board=True).rows[0]

    assert row.probability_between < row.probability
    assert alike.probability_between > row.probability_between


@pytest.mark.parametrize("text", ["energy", "energy:2", "energy:0%", "energy:-100%", ":2%", "energy:two%"])
def test_a_plan_that_is_no_plan_is_refused(text):
    with pytest.raises(KvbenchError, match="write METRIC:X%"):
        parse_wanted(text)


def test_a_single_run_shows_no_spread_to_plan_with():
    with pytest.raises(KvbenchError, match="two runs with positive values are needed"):
        planned("energy:2%", before=lone("a.kvs", 0.1778))
