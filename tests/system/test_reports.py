"""What is made of a session that was really recorded: every format, exports, a replay."""

from __future__ import annotations

import json
import subprocess

import jsonschema
import pytest

from kv260_runtime.errors import ExitCode
from kv260_runtime.report import FORMATS
from tests.system.harness import command, profile


@pytest.fixture(scope="module")
def session(tmp_path_factory, consolidated):
    """Two runs of one model, the first try of the first of which dies of a DPU timeout."""
    folder = tmp_path_factory.mktemp("reports")
    plan = ("--runs", "2", "--smoke", "0", "--duration", "3", "--trim", "0.5", "--idle", "0.5")
    done = profile(folder, consolidated, *plan, board_options=("fault=dpu-timeout@1+1",))
    assert done.code == ExitCode.OK, done.errors
    return done.session


def kvbench(*words):
    return subprocess.run(command(*words), capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_the_session_replays_to_the_figures_it_was_made_with(session):
    done = kvbench("replay", session, "--json")

    told = json.loads(done.stdout)
    assert done.returncode == ExitCode.OK, done.stderr
    assert told["equal"] is True
    assert told["figures"] > 50


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_every_format_tells_of_the_emulated_board(session, form):
    done = kvbench("report", session, "--format", form)

    assert done.returncode == ExitCode.OK, done.stderr
    assert "emulated" in done.stdout.lower()
    assert done.stderr == ""


def test_the_page_shows_the_run_that_died(session):
    page = kvbench("report", session, "--format", "html").stdout

    assert "dpu timeout" in page
    assert "excluded" in page


def test_the_trace_keeps_to_its_schema_and_has_every_execution(session, repository):
    told = json.loads(kvbench("report", session, "--format", "trace").stdout)
    result = json.loads(kvbench("report", session, "--format", "json").stdout)

    jsonschema.validate(told, json.loads((repository / "docs/schemas/trace.schema.json").read_text()))
    executions = [one for one in told["traceEvents"] if one["ph"] == "X" and one["name"] == result["models"][0]["name"]]
    counted = [run["figures"]["throughput"]["quality"]["samples"] for run in result["models"][0]["runs"] if run["kept"]]
    assert len(executions) > sum(counted) > 0


def test_a_report_goes_to_a_new_file_only(session, tmp_path):
    out = tmp_path / "report.md"

    assert kvbench("report", session, "--format", "markdown", "--out", out).returncode == ExitCode.OK
    again = kvbench("report", session, "--format", "markdown", "--out", out)

    assert out.read_text().startswith("### virtual KV260")
    assert again.returncode == ExitCode.CANNOT_CREATE
    assert again.stderr.count("\n") == 1 and "exists already" in again.stderr


def test_an_export_holds_what_the_recorder_wrote(session, tmp_path, repository):
    done = kvbench("export", session, "--out", tmp_path / "samples")

    assert done.returncode == ExitCode.OK, done.stderr
    manifest = json.loads((tmp_path / "samples/session.json").read_text())
    jsonschema.validate(manifest, json.loads((repository / "docs/schemas/export.schema.json").read_text()))
    lines = (tmp_path / "samples/power.som.csv").read_text().splitlines()
    assert lines[0] == "t_ns [ns],late_ns [ns],watts [W]"
    assert len(lines) > 500
