"""A child process: stamped lines, exit codes, and no survivors."""

from __future__ import annotations

import os
import sys

import psutil
import pytest

from kv260_runtime.errors import KvbenchError
from kv260_runtime.workloads.child import Child, describe_exit
from telemetry.clock import SystemClock

FAR_NS = 30_000_000_000


def living_in_group(group):
    """Processes of the group that still run; a killed orphan may wait for init to collect it."""
    living = []
    for process in psutil.process_iter(["status"]):
        try:
            if os.getpgid(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                living.append(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return living


def run_to_end(code):
    clock = SystemClock()
    with Child([sys.executable, "-c", code], clock, os.environ) as child:
        lines = list(child.lines(clock.now_ns() + FAR_NS, lambda: None))
        return lines, child.ended, child.wait()


def test_lines_of_both_outputs_arrive_with_their_source_and_in_order():
    lines, ended, code = run_to_end("import sys; print('a'); print('b'); print('c', file=sys.stderr)")

    assert [line.text for line in lines if line.source == "stdout"] == [b"a", b"b"]
    assert [line.text for line in lines if line.source == "stderr"] == [b"c"]
    assert (ended, code) == (True, 0)


def test_a_last_line_without_a_newline_is_not_lost():
    lines, _, _ = run_to_end("print('half', end='')")

    assert [line.text for line in lines] == [b"half"]


def test_stamps_do_not_run_backwards_within_a_source():
    lines, _, _ = run_to_end("for i in range(1000): print(i)")
    stamps = [line.t_ns for line in lines]

    assert len(lines) == 1000
    assert stamps == sorted(stamps)


def test_an_abort_is_told_by_its_signal():
    _, ended, code = run_to_end("import os; os.abort()")

    assert ended
    assert describe_exit(code) == "was killed by SIGABRT"


def test_a_deadline_ends_the_waiting_and_leaving_kills_the_whole_group():
    clock = SystemClock()
    inner = "import time; print(1, flush=True); time.sleep(60)"
    sleeper = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    ticks = []
    with Child([sys.executable, "-c", sleeper], clock, os.environ) as child:
        first = next(iter(child.lines(clock.now_ns() + FAR_NS, lambda: None)))
        rest = list(child.lines(clock.now_ns() + 300_000_000, lambda: ticks.append(1)))
        assert not child.ended
        group = child.process.pid

    assert first.text == b"1"
    assert rest == []
    assert ticks
    killed_ns = clock.now_ns()
    while living_in_group(group):  # SIGKILL takes effect a moment after kill() has returned
        assert clock.now_ns() < killed_ns + FAR_NS


def test_a_program_that_is_not_there_is_one_line():
    with pytest.raises(KvbenchError, match="no-such-program: cannot be started"):
        Child(["no-such-program"], SystemClock(), os.environ)
