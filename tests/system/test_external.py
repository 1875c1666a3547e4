"""A meter at the input of the virtual board: its file aligned by the load pulse, its display read at prompts."""

from __future__ import annotations

import json
import subprocess
import threading
from itertools import pairwise

import numpy as np
import pytest

from kv260_runtime.errors import ExitCode
from tests.system.harness import command
from virtual_board.truth import read_truth

PLAN = ("--runs", "2", "--duration", "4", "--trim", "0.5", "--idle", "3", "--smoke", "0", "--pulse")
PROMPTS = ("--external-prompt", "1,2", "--external-boundary", "display")
REST_WATTS, EFFICIENCY = 3.0, 0.9
"""What hangs at the input beside the rail, and the conversion to the rail's voltage."""
READING = 13.0
PERIOD_SECONDS, STARTS_BEFORE_SECONDS = 0.25, 7.77
"""Of the meter: its interval, and how long before the pulse its own clock began."""
SECOND = 1_000_000_000


def answer(process):
    """Type a reading whenever one is asked for; everything said on stderr."""
    said = ""
    while letter := process.stderr.read(1):
        said += letter
        if said.endswith("reading of the meter in W? "):
            process.stdin.write(f"{READING}\n")
            process.stdin.flush()
    return said


def profiled(words):
    """The JSON of a profile with somebody at the keyboard."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    said = []
    with subprocess.Popen(words, text=True, **pipes) as process:
        listener = threading.Thread(target=lambda: said.append(answer(process)))
        listener.start()
        printed = process.stdout.read()
        listener.join()
    assert process.returncode == ExitCode.OK, said
    return json.loads(printed)


def write_meter(path, truth, first_ns, last_ns):
    """Mean input power over each interval, by the board's event log, on the meter's own clock."""
    edges = np.arange(first_ns, last_ns, round(PERIOD_SECONDS * SECOND))
    lines = ["t;P"]
    for begin, end in pairwise(edges):
        rail = truth.joules(int(begin), int(end)) / ((end - begin) / SECOND)
        own = ((begin + end) / 2 - first_ns) / SECOND
        lines.append(f"{own:.6f};{(rail + REST_WATTS) / EFFICIENCY:.4f}".replace(".", ","))
    path.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def measured(tmp_path_factory, consolidated):
    """The profile's JSON, then the session with the meter's file added, as JSON too."""
    folder = tmp_path_factory.mktemp("external")
    session, log, csv = folder / "session.kvs", folder / "board.log", folder / "meter.csv"
    words = ("profile", consolidated, "--board", "virtual", "--board-option", f"log={log}", *PLAN, *PROMPTS)
    report = profiled(command(*words, "--out", session, "--json"))
    truth = read_truth(log)
    marks = pulse_marks(session)
    write_meter(csv, truth, marks[0] - round(STARTS_BEFORE_SECONDS * SECOND), marks[1])
    added = subprocess.run(
        command("external", session, "--csv", csv, "--columns", "time=t,power=P", "--boundary", "12 V input"),
        capture_output=True,
        text=True,
    )
    assert added.returncode == ExitCode.OK, added.stderr
    again = subprocess.run(command("report", session, "--format", "json"), capture_output=True, text=True, check=True)
    return report, json.loads(again.stdout), session


def pulse_marks(session):
    """Begin of the pulse, and the end of the last run's idle."""
    from telemetry.session.reader import SessionReader

    with SessionReader(session) as reader:
        begin = next(marker.t_ns for marker in reader.markers() if marker.name == "pulse begin")
        return begin, max(record.ended_ns for record in reader.runs())


def figures(told):
    return told["models"][0]["figures"]


def test_the_meters_energy_is_the_inputs_and_the_rails_stays_its_own(measured):
    _, told, _ = measured
    rail, meter = (figures(told)[f"power.{name}"]["values"] for name in ("som", "12-v-input"))

    assert meter == pytest.approx([(watts + REST_WATTS) / EFFICIENCY for watts in rail], rel=0.01)
    energy = figures(told)["energy_per_execution.12-v-input"]
    assert energy["source"] == "c2fdeploy.txt, Eq. 25"
    assert energy["values"] == pytest.approx(
        [watts / rate for watts, rate in zip(meter, figures(told)["throughput"]["values"], strict=True)], rel=1e-9
    )


def test_idle_shows_that_the_clocks_were_brought_together(measured):
    """The step from 4.8 to 8.7 W lies 3 s from the ends of the idle: an error of a second would show."""
    _, told, _ = measured
    rail, meter = (figures(told)[f"idle_power.{name}"]["mean"] for name in ("som", "12-v-input"))

    assert meter == pytest.approx((rail + REST_WATTS) / EFFICIENCY, rel=0.01)


def test_readings_of_a_display_are_asked_for_during_runs_and_averaged(measured):
    report, _, _ = measured
    display = figures(report)["power.display"]

    assert display["values"] == [READING, READING]
    assert [run["figures"]["power.display"]["quality"]["samples"] for run in report["models"][0]["runs"]] == [2, 2]


def test_a_replay_agrees_with_what_was_added(measured):
    _, _, session = measured

    done = subprocess.run(command("replay", session), capture_output=True, text=True)
    assert done.returncode == ExitCode.OK, done.stdout
