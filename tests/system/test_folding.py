"""`kvbench fold` over a whole session of the virtual board, against its event log."""

from __future__ import annotations

import json
import subprocess

import jsonschema
import pytest

from kv260_runtime.errors import ExitCode
from tests.system.harness import command, profile
from tools.bench.folding import run_bench


@pytest.mark.bench
def test_three_subgraphs_come_within_a_tenth_and_their_sum_within_3_percent(tmp_path, repository):
    checks = run_bench(tmp_path, seconds=10.0, runs=1, seed=2)
    done = subprocess.run(command("fold", tmp_path / "s.kvs", "--json"), capture_output=True, text=True)
    schema = json.loads((repository / "docs/schemas/fold.schema.json").read_text())

    jsonschema.validate(json.loads(done.stdout), schema)
    assert [check.name for check in checks] == ["run 1", "run 2", "run 3", "sum"]
    assert [check for check in checks if not check.passed] == []


def test_a_session_without_execution_times_is_refused_with_a_reason(tmp_path, consolidated):
    words = ("--workload", "xdputil", "--runs", "1", "--smoke", "0", "--duration", "2", "--trim", "0", "--idle", "0.2")
    session = profile(tmp_path, consolidated, *words).session
    done = subprocess.run(command("fold", session), capture_output=True, text=True)

    assert done.returncode == ExitCode.NOT_MEASURED
    assert "executions were not timed: use --workload graph or dpu" in done.stdout
