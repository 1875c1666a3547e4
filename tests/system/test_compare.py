"""A change that is there is found on the virtual board, in one session and between two."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from kv260_runtime.errors import ExitCode
from tests.system.harness import command, profile

PLAN = ("--runs", "4", "--duration", "2", "--trim", "0.2", "--idle", "0.6", "--smoke", "1")
MS = 1_000_000
SLOWER = 1.5
"""How much longer one execution of the second model takes: far beyond what a busy machine adds by itself."""


def execution(factor):
    busy = {"kind": "dpu", "duration_ns": round(16 * MS * factor), "moved_bytes": {"read.slot3": 30_000_000}}
    return {"overhead_ns": 0, "segments": [{"kind": "cpu", "duration_ns": round(4 * MS * factor)}, busy]}


@pytest.fixture(scope="module")
def models(tmp_path_factory, consolidated):
    """One model under two names, of which the second is slower; and the timing that makes it so."""
    folder = tmp_path_factory.mktemp("models")
    names = folder / "base.xmodel", folder / "slow.xmodel"
    for name in names:
        shutil.copyfile(consolidated, name)
    timing = folder / "timing.json"
    timing.write_text(json.dumps({"base.xmodel": execution(1.0), "slow.xmodel": execution(SLOWER)}))
    return names, f"timing={timing}"


@pytest.fixture(scope="module")
def pair(tmp_path_factory, models):
    """Both in one session."""
    paths, timing = models
    return profile(tmp_path_factory.mktemp("pair"), *paths, *PLAN, board_options=(timing,)).session


@pytest.fixture(scope="module")
def alone(tmp_path_factory, models):
    """The first in a session of its own, on a board with another sensor."""
    paths, timing = models
    return profile(tmp_path_factory.mktemp("alone"), paths[0], *PLAN, board_options=(timing, "seed=2")).session


def compare(*words):
    done = subprocess.run(command("compare", *words, "--json"), capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)["comparison"]


def test_a_slower_model_is_a_regression_in_pairs_of_runs(pair):
    code, told = compare(pair, "--fail-on", "throughput:-10%", "--fail-on", "energy:+10%")
    ratio = told["metrics"]["throughput"]["ratio"]

    assert code == ExitCode.REGRESSION
    assert told["paired"] is True
    assert [one["answer"] for one in told["verdicts"]] == ["regression", "regression"]
    assert ratio["value"] == pytest.approx(1 / SLOWER, rel=0.1)


def test_the_other_way_round_nothing_is_wrong(pair):
    code, told = compare(f"{pair}:slow", f"{pair}:base", "--fail-on", "throughput:-10%", "--fail-on", "energy:+10%")

    assert code == ExitCode.OK
    assert [one["answer"] for one in told["verdicts"]] == ["pass", "pass"]


def test_one_model_in_two_sessions_has_not_changed(pair, alone):
    code, told = compare(alone, f"{pair}:base", "--fail-on", "energy:+20%", "--fail-on", "throughput:-20%")
    ratio = told["metrics"]["energy_per_execution.som"]["ratio"]

    assert code == ExitCode.OK, told["verdicts"]
    assert told["paired"] is False
    assert ratio["value"] == pytest.approx(1.0, rel=0.1)


def test_a_slower_model_is_a_regression_between_sessions_too(pair, alone):
    code, told = compare(alone, f"{pair}:slow", "--fail-on", "energy:+10%", "--fail-on", "throughput:-10%")

    assert code == ExitCode.REGRESSION
    assert [one["answer"] for one in told["verdicts"]] == ["regression", "regression"]
