"""Intervals of a session's figures and ratios, from the samples to what is printed."""

from __future__ import annotations

import doctest
import json
import math

import jsonschema
import numpy as np
import pytest

from kv260_runtime.profile.evaluate import evaluate
from kv260_runtime.report import intervals, renderer
from telemetry.stats import mean, paired_ratio, repeatability, sample_sd, t_quantile
from tests.unit.profile import synthetic

TRUTH = synthetic.Truth()
FACTORS = {"a": [1.0, 1.002, 0.999, 1.001], "b": [1.02, 1.023, 1.018, 1.022]}
ENERGY = "energy_per_execution.som"


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    path = tmp_path_factory.mktemp("session") / "four.kvs"
    synthetic.write_session(path, TRUTH, runs=4, models=("a", "b"), factors=FACTORS)
    return path


@pytest.fixture(scope="module")
def result(session):
    return evaluate(session)


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    path = tmp_path_factory.mktemp("session") / "one.kvs"
    synthetic.write_session(path, TRUTH, runs=1, run_seconds=8)
    return evaluate(path)


def test_repeatability_is_students_t_over_runs(result):
    one = result.models[0].summaries[ENERGY]

    assert one.values == pytest.approx([0.18 * factor for factor in FACTORS["a"]], rel=1e-9)
    assert one.repeatability == repeatability(one.values)


def test_the_budget_has_the_boards_gain_offset_resolution_and_delay_relative_to_the_runs_power(result):
    budget = result.models[0].summaries[ENERGY].accuracy
    watts = 9.0 * mean(FACTORS["a"])
    relative = {part.name: part.standard / budget.value for part in budget.components}

    assert relative["gain"] == pytest.approx(0.0015)
    assert relative["offset"] == pytest.approx(0.0144 / watts, rel=1e-6)
    assert relative["resolution"] == pytest.approx(0.01 / math.sqrt(12) / watts, rel=1e-6)
    assert relative["runs"] == pytest.approx(sample_sd(FACTORS["a"]) / 2 / mean(FACTORS["a"]), rel=1e-6)
    # The power of these runs is constant: the instant of an edge does not matter.
    assert relative.get("delay", 0.0) == pytest.approx(0.0, abs=1e-9)
    assert budget.expanded == pytest.approx(
        t_quantile(0.975, budget.degrees) * math.sqrt(sum(u * u for u in relative.values())) * budget.value
    )


def test_the_offset_cancels_above_idle_and_matters_more_at_idle(result):
    summaries = result.models[0].summaries
    above = summaries["energy_above_idle_per_execution.som"].accuracy
    idle = summaries["idle_power.som"].accuracy

    assert {part.name for part in above.components} == {"runs", "gain", "resolution"}
    assert {part.name: part.standard for part in idle.components}["offset"] == pytest.approx(0.0144)


def test_rates_are_as_good_as_the_clock_and_counts_as_their_runs(result):
    summaries = result.models[0].summaries

    assert [part.name for part in summaries["throughput"].accuracy.components] == ["runs", "clock"]
    assert [part.name for part in summaries["bytes_per_execution.total"].accuracy.components] == ["runs"]


def test_a_rail_that_states_no_gain_has_no_accuracy_and_says_why(tmp_path, monkeypatch):
    bare = [one for one in synthetic.STREAMS if one.name != "power.som"]
    attributes = {"averaging_ns": str(synthetic.AVERAGING_NS)}
    rail = synthetic.stream(
        "power.som", "hwmon-power", 10_000_000, synthetic.Column("watts", "W", "gauge"), **attributes
    )
    monkeypatch.setattr(synthetic, "STREAMS", (*bare, rail))
    synthetic.write_session(tmp_path / "s.kvs", TRUTH, runs=2)

    result = evaluate(tmp_path / "s.kvs")
    one = result.models[0].summaries[ENERGY]
    assert one.accuracy is None
    assert "no gain_u for power.som" in one.accuracy_unknown
    assert one.repeatability is not None
    assert "accuracy unknown: the board profile states no gain_u" in renderer("budget")(result)


def test_a_change_is_judged_in_pairs_of_runs(result):
    change = next(one for one in result.changes if one.name == ENERGY)
    before, after = (model.summaries[ENERGY].values for model in result.models)

    assert (change.pairs, change.unpaired, change.paired.method) == (4, None, "paired")
    assert change.paired.ratio == paired_ratio(before, after)
    assert change.paired.ratio.low < 1.02 < change.paired.ratio.high


def test_a_single_run_has_batch_means_instead_of_repeatability(single):
    run = single.models[0].runs[0].measured
    one = single.models[0].summaries[ENERGY]

    assert one.repeatability is None
    assert one.accuracy.components[0].name == "within the run"
    assert run.within[ENERGY].batches == 32
    assert run.within["throughput"].standard_error == pytest.approx(0.0, abs=1e-12)
    assert run.seconds == pytest.approx(6.0, abs=0.05)
    assert single.models[0].summaries["busy_share.DPU_1"].accuracy is None
    assert "measure more runs" in single.models[0].summaries["busy_share.DPU_1"].accuracy_unknown


def test_the_table_shows_both_intervals_and_the_ratios_in_120_columns(result):
    table = renderer("table")(result)
    [energy] = [
        line for line in table.splitlines() if line.strip().startswith("energy per execution, som") and "[" in line
    ]

    assert max(map(len, table.splitlines())) <= 120
    assert "repeatability" in table and "accuracy" in table
    assert energy.count("±") == 4
    assert "+2.02 % [" in energy


def test_a_single_run_is_shown_with_its_accuracy_alone(single):
    table = renderer("table")(single)
    [energy] = [
        line for line in table.splitlines() if line.strip().startswith("energy per execution, som") and "±" in line
    ]

    assert energy.split()[4:-1] == ["J", "0.18", "±"]


def test_the_budget_lists_components_by_size_with_shares_that_add_up(result):
    text = renderer("budget")(result)
    [block] = [part for part in text.split("\n\n") if part.startswith("a: energy per execution, som")]
    rows = [line.split() for line in block.splitlines()[2:]]

    assert [row[0] for row in rows] == ["offset", "gain", "runs", "resolution"]
    assert [row[1] for row in rows] == ["B", "B", "A", "B"]
    assert sum(float(row[4]) for row in rows) == pytest.approx(100, abs=0.3)


def test_json_keeps_to_its_schema_where_degrees_are_infinite_and_runs_are_single(result, single, repository):
    schema = json.loads((repository / "docs/schemas/profile.schema.json").read_text())
    for one in (result, single):
        jsonschema.validate(json.loads(renderer("json")(one)), schema)
    told = json.loads(renderer("json")(result))["models"][0]["figures"][ENERGY]["accuracy"]
    assert {part["name"]: part["degrees"] for part in told["components"]}["gain"] is None
    assert told["high"] - told["low"] == pytest.approx(2 * told["expanded"])


def test_intervals_come_out_the_same_bit_for_bit(session, result):
    assert renderer("json")(evaluate(session)) == renderer("json")(result)
    assert np.isfinite(result.models[0].summaries[ENERGY].accuracy.expanded)


def test_examples_of_the_printed_forms():
    assert doctest.testmod(intervals).failed == 0
