"""External commands: their lines make the window, their ending decides whether it counts."""

from __future__ import annotations

import os
import sys
from itertools import pairwise

import pytest

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.workloads import RunContext, RunRequest, WorkloadSpec, open_workload
from kv260_runtime.workloads.xdputil import why_unfit
from telemetry.clock import SystemClock
from telemetry.markers import XdputilParser

REQUEST = RunRequest(duration_ns=1_000_000_000)


def context():
    return RunContext(SystemClock(), dict(os.environ), lambda _: None)


def run_python(code, **patterns):
    spec = WorkloadSpec(kind="command", command=(sys.executable, "-c", code), patterns=patterns)
    return open_workload(spec).run(REQUEST, context())


def test_a_line_per_execution_gives_completions():
    observed = run_python("for i in range(7): print('frame done')", count="frame done")

    assert observed.failure is None
    assert observed.executions == 7
    assert len(observed.end_ns) == 7
    assert all(a <= b for a, b in pairwise(observed.end_ns))


def test_begin_and_end_lines_make_the_window_and_a_group_gives_the_count():
    code = "import time; print('GO', flush=True); time.sleep(0.05); print('did 12 frames'); print('STOP')"

    observed = run_python(code, begin="^GO$", end="^STOP$", count=r"did (\d+) frames")

    assert observed.failure is None
    assert observed.executions == 12
    assert observed.window is not None
    assert observed.seconds == pytest.approx(observed.window.seconds)


def test_a_missing_end_line_fails_the_run():
    observed = run_python("print('GO')", begin="^GO$", end="^STOP$")

    assert observed.failure == "no line matched the begin pattern and, after it, the end pattern"
    assert observed.window is None


def test_an_exit_code_fails_the_run_and_its_last_lines_are_kept():
    observed = run_python("import sys; print('boom'); sys.exit(3)")

    assert observed.failure == "the command ended with exit code 3"
    assert observed.details["last_lines"] == ["boom"]


def test_a_command_without_markers_is_measured_from_start_to_exit():
    observed = run_python("print('nothing to count')")

    assert observed.failure is None
    assert observed.window is not None
    assert observed.executions is None


def test_an_unknown_program_ends_the_command_in_one_line():
    workload = open_workload(WorkloadSpec(kind="command", command=("no-such-program",)))

    with pytest.raises(KvbenchError) as caught:
        workload.run(REQUEST, context())
    assert caught.value.exit_code == ExitCode.UNAVAILABLE


def test_the_models_path_is_put_into_the_command(tmp_path):
    model = tmp_path / "a.xmodel"
    spec = WorkloadSpec(kind="command", model=model, command=("bench", "{model}", "-n", "1"))

    assert open_workload(spec).command() == ["bench", str(model), "-n", "1"]


def told_by_xdputil(*lines):
    parser = XdputilParser()
    for index, line in enumerate(lines):
        parser.feed(index, line)
    return parser.result()


FRAMES = b"I0531 03:27:06.926718  1163 performance_test.hpp:85] thread-0 processes 490 frames"


def test_xdputil_is_believed_by_its_words_and_not_by_its_exit_code():
    whole = (b"0% ...", b"100% ...", FRAMES)

    assert why_unfit(told_by_xdputil(*whole, b"Test PASS."), 0) is None
    assert "Test Failed" in why_unfit(told_by_xdputil(*whole, b"Test Failed!!!"), 0)
    assert "100%" in why_unfit(told_by_xdputil(b"0% ...", FRAMES), 0)
    assert "SIGABRT" in why_unfit(told_by_xdputil(*whole), -6)
    assert "dpu-timeout" in why_unfit(told_by_xdputil(*whole, b"dpu timeout! core_idx = 0"), -6)


def test_xdputil_measures_the_whole_model_unless_a_subgraph_is_named(tmp_path):
    model = tmp_path / "a.xmodel"

    whole = open_workload(WorkloadSpec(kind="xdputil", model=model, threads=2)).command()
    part = open_workload(WorkloadSpec(kind="xdputil", model=model, subgraph=3)).command()

    assert whole == ["xdputil", "benchmark", str(model), "-i", "-1", "2"]
    assert part == ["xdputil", "benchmark", str(model), "-i", "3", "1"]


def test_the_window_of_a_whole_run_ends_with_the_command_and_not_with_what_it_left_behind():
    code = (
        "import subprocess, sys;"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"  # in the group, the pipes open
    )

    observed = run_python(code)

    assert observed.failure is None
    assert observed.window.seconds < 0.5
