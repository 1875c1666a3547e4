"""A child process: stamped lines, exit codes, and no survivors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from kv260_runtime.errors import KvbenchError
from kv260_runtime.workloads.child import GRACE_NS, LONGEST_LINE_BYTES, Child, describe_exit
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


def test_a_flood_of_lines_takes_neither_memory_nor_a_core():
    clock, seen = SystemClock(), 0
    before = psutil.Process().memory_info().rss
    used = os.times()
    with Child(["yes"], clock, os.environ) as child:
        for line in child.lines(clock.now_ns() + 1_000_000_000, lambda: None):
            seen += 1
            assert line.text == b"y"
            if seen == 20_000:  # nobody looks for a while, and the pipe fills
                clock.sleep_until_ns(clock.now_ns() + 500_000_000)
        assert not child.ended
    now = os.times()

    assert seen >= 20_000
    assert psutil.Process().memory_info().rss - before < 20e6
    assert now.user + now.system - used.user - used.system < 1.5


def test_a_line_without_an_end_is_cut():
    lines, _, code = run_to_end("import sys; sys.stdout.write('x' * 300_000)")

    assert sum(len(line.text) for line in lines) == 300_000
    assert max(len(line.text) for line in lines) <= 2 * LONGEST_LINE_BYTES
    assert code == 0


def test_a_daemon_that_keeps_the_pipes_is_not_waited_for():
    daemon = "import time; time.sleep(60)"
    starter = (
        "import subprocess, sys;"
        f"left = subprocess.Popen([sys.executable, '-c', {daemon!r}], start_new_session=True);"
        "print(left.pid, flush=True)"
    )
    clock = SystemClock()
    with Child([sys.executable, "-c", starter], clock, os.environ) as child:
        (line,) = child.lines(clock.now_ns() + FAR_NS, lambda: None)
        ended_ns = clock.now_ns()
        assert child.ended
        assert child.wait() == 0
        assert child.exited_ns is not None
    os.kill(int(line.text), signal.SIGKILL)

    assert line.t_ns <= child.exited_ns + GRACE_NS
    assert ended_ns - child.exited_ns < 10 * GRACE_NS


def test_the_group_dies_with_a_parent_that_was_killed():
    inner = "import time; time.sleep(60)"
    middle = (
        f"import os, subprocess, sys; print(os.getpid(), flush=True); subprocess.run([sys.executable, '-c', {inner!r}])"
    )
    parent = (
        "import os, signal, sys;"
        "from kv260_runtime.workloads.child import Child;"
        "from telemetry.clock import SystemClock;"
        f"child = Child([sys.executable, '-c', {middle!r}], SystemClock(), os.environ);"
        "line = next(iter(child.lines(SystemClock.now_ns() + 10**10, lambda: None)));"
        "print(line.text.decode(), flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", parent], stdout=subprocess.PIPE, check=False, text=True)
    assert done.returncode == -signal.SIGKILL
    clock = SystemClock()
    killed_ns = clock.now_ns()
    while living_in_group(int(done.stdout)):
        assert clock.now_ns() < killed_ns + FAR_NS
