"""From a session file to figures: the truths that made the file come out again."""

from __future__ import annotations

import json

import jsonschema
import pytest

from kv260_runtime.profile.evaluate import evaluate
from kv260_runtime.report import renderer
from tests.unit.profile import synthetic

TRUTH = synthetic.Truth()


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("session") / "two.kvs"
    synthetic.write_session(path, TRUTH, runs=2, models=("a", "b"))
    return evaluate(path)


def mean(result, name, model=0):
    return result.models[model].summaries[name].mean


def test_executions_between_completions_are_exact(result):
    assert mean(result, "throughput") == pytest.approx(50.0, rel=1e-12)
    assert mean(result, "reciprocal_latency") == pytest.approx(0.020, rel=1e-12)
    assert mean(result, "latency.p95") == pytest.approx(0.020, rel=1e-12)


def test_energy_per_execution_is_power_times_period(result):
    assert mean(result, "power.som") == pytest.approx(TRUTH.run_watts, rel=1e-9)
    assert mean(result, "idle_power.som") == pytest.approx(TRUTH.idle_watts, rel=1e-9)
    assert mean(result, "energy_per_execution.som") == pytest.approx(9.0 * 0.020, rel=1e-9)
    assert mean(result, "energy_above_idle_per_execution.som") == pytest.approx(4.0 * 0.020, rel=1e-9)
    assert mean(result, "throughput_per_watt.som") == pytest.approx(50 / 9, rel=1e-9)


def test_busy_share_is_busy_time_over_period(result):
    # Samples every millisecond lock to a period of 20 ms: the sampler's random instants are what breaks this.
    assert mean(result, "busy_share.DPU_1") == pytest.approx(0.75, abs=0.051)


def test_memory_per_execution_is_found_above_the_idle_traffic_and_across_wraps(result):
    assert mean(result, "bytes_above_idle_per_execution.total") == pytest.approx(TRUTH.read_bytes, rel=1e-6)
    assert mean(result, "bytes_per_execution.read") == pytest.approx(TRUTH.read_bytes + 20_000, rel=1e-6)


def test_the_observers_own_time_is_taken_off_the_cpu_share(result):
    assert mean(result, "system_share") == pytest.approx(TRUTH.cpu_share, rel=1e-9)
    assert mean(result, "system_share_net") == pytest.approx(TRUTH.cpu_share - TRUTH.observer_share, rel=1e-9)


def test_two_models_that_are_equal_differ_by_a_ratio_of_one(result):
    assert {change.model for change in result.changes} == {"b"}
    assert all(change.ratio == pytest.approx(1.0, rel=1e-6) for change in result.changes)


def test_the_table_names_every_model_the_rail_and_the_session(result):
    table = renderer("table")(result)

    assert " a " in table and " b " in table
    assert "som: SOM 5 V rail" in table
    assert result.session in table.replace("\n  ", " ")


def test_the_json_holds_unrounded_values_of_every_run(result):
    told = json.loads(renderer("json")(result))
    energy = told["models"][0]["figures"]["energy_per_execution.som"]

    assert told["schema_version"] == 1
    assert energy["n"] == 2
    assert energy["values"] == list(result.models[0].summaries["energy_per_execution.som"].values)
    assert [run["kept"] for run in told["models"][0]["runs"]] == [True, True]


def test_the_json_keeps_to_its_published_schema(result, repository):
    schema = json.loads((repository / "docs/schemas/profile.schema.json").read_text())

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(renderer("json")(result)), schema)


def test_the_same_file_gives_the_same_result_bit_for_bit(tmp_path):
    path = tmp_path / "again.kvs"
    synthetic.write_session(path, TRUTH)

    assert renderer("json")(evaluate(path)) == renderer("json")(evaluate(path))
