"""Folding of whole sessions: every run of every model, with reasons where there is no figure."""

from __future__ import annotations

import dataclasses
import json

import jsonschema
import pytest

from kv260_runtime.cli.main import main
from kv260_runtime.errors import ExitCode
from kv260_runtime.profile.folding import _over_runs, fold_session, folding_json
from telemetry.session.log import SessionLog
from telemetry.stats import Interval
from tests.unit.profile.synthetic import MS, Truth, write_session

STATIC = {"dpu_runs": 1, "estimated": True}


def session(path, truth, runs=1, threads=1, static=STATIC, **rest):
    write_session(path, truth, runs=runs, **rest)
    log = SessionLog.open(path)
    log.put_meta("models", [{"name": "m", "static": static, "threads": threads}])
    log.close()
    return path


@pytest.fixture(scope="module")
def folded(tmp_path_factory):
    """Three runs of executions of 39 ms, 25 of them on the compute unit, at 9 W throughout.

    The 5 s between two runs are whole periods, since the synthetic compute unit keeps one phase over all of them.
    """
    truth = Truth(period_ns=39_062_500, busy_ns=25 * MS)
    return session(tmp_path_factory.mktemp("folded") / "s.kvs", truth, runs=3, run_seconds=12)


def test_a_model_is_folded_over_its_runs(folded):
    [found] = fold_session(folded)
    assert (found.model, found.rail, len(found.runs)) == ("m", "som", 3)
    assert {part.name: part.runs for part in found.parts} == {"run 1": 3, "host between executions": 3}
    by_name = {part.name: part for part in found.parts}
    assert by_name["run 1"].joules.value == pytest.approx(0.225, rel=0.01)
    assert found.joules is not None
    assert found.joules.value == pytest.approx(9 * 0.0390625, rel=0.002)
    assert found.total_joules == pytest.approx(found.joules.value, rel=0.002)
    assert found.refused == {}


def test_the_json_keeps_to_its_schema(folded, repository):
    schema = json.loads((repository / "docs/schemas/fold.schema.json").read_text())
    jsonschema.validate(folding_json("s.kvs", fold_session(folded)), schema)


def test_the_table_says_what_its_intervals_leave_out(folded, capsys):
    assert main(["fold", str(folded)]) == ExitCode.OK
    printed = capsys.readouterr().out
    assert "m, rail som: per execution, 3 runs folded" in printed
    assert "by integration" in printed
    assert "without the gain of the sensor" in printed


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"period_ns": 40 * MS, "busy_ns": 30 * MS}, "keep step with the sensor's readings"),
        ({"period_ns": 13_300_000, "busy_ns": 7 * MS}, "no run of the compute unit is as long"),
    ],
)
def test_executions_that_cannot_be_folded_are_refused_with_the_reason(tmp_path, changes, reason, capsys):
    path = session(tmp_path / "s.kvs", dataclasses.replace(Truth(), **changes))
    assert main(["fold", str(path)]) == ExitCode.NOT_MEASURED
    assert reason in capsys.readouterr().out


@pytest.mark.parametrize(
    ("told", "reason"), [({"threads": 2}, "2 threads overlap"), ({"static": None}, "number of compute-unit runs")]
)
def test_a_session_that_does_not_tell_its_phases_is_refused(tmp_path, told, reason):
    [found] = fold_session(session(tmp_path / "s.kvs", Truth(), **told))
    [refusal] = found.refused.values()
    assert reason in refusal
    assert (found.parts, found.joules, found.total_joules) == ((), None, None)


def test_three_runs_and_more_give_the_interval_by_their_spread_fewer_by_what_each_tells():
    one, other = Interval(1.0, 0.9, 1.1), Interval(2.0, 1.9, 2.1)
    assert _over_runs([one]).half_width == pytest.approx(0.1)
    assert _over_runs([one, other]).half_width == pytest.approx(0.1 * 2**0.5 / 2)
    assert _over_runs([one, one, one]).half_width == 0.0
