"""Findings that need a whole session: counts of a command, temperatures and clocks over runs."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from kv260_runtime.profile.evaluate import evaluate
from kv260_runtime.profile.records import observation_json
from kv260_runtime.workloads import Observation
from telemetry.model import Column, Stream, Window
from telemetry.session.log import RunInfo, SessionLog
from telemetry.session.writer import ChunkWriter

SECOND = 1_000_000_000


def write(path, streams, runs):
    """Evaluate `streams`, each with a function of seconds, over `runs` of 10 s: a model and what was observed of it."""
    log = SessionLog.create(path)
    log.put_meta("models", [{"name": name, "static": None} for name in dict.fromkeys(name for name, _ in runs)])
    for place, (name, extras) in enumerate(runs):
        run_id = log.start_run(RunInfo(name, "formal", place, 0, {"trim_ns": SECOND}))
        window = Window((10 + 20 * place) * SECOND, (20 + 20 * place) * SECOND)
        log.end_run(run_id, "kept", None, observation_json(Observation(boundary="b", window=window, **extras)))
    writer = ChunkWriter(path, [stream for stream, _ in streams])
    seconds = np.arange(0, 20 * len(runs) + 10)
    for stream, values in streams:
        columns = [array("d", [float(values(t)) for t in seconds]) for _ in stream.columns]
        writer.chunk(stream.name, array("q", (seconds * SECOND).tolist()), array("q", [0] * len(seconds)), columns)
    writer.close()
    log.close()
    return evaluate(path)


def temperature(values):
    return Stream("temperature", "thermal", SECOND, (Column("celsius.ps", "Cel", "gauge"),)), values


def frequency(values, governor):
    stream = Stream("frequency", "cpufreq", SECOND, (Column("hertz.cpu0", "Hz", "gauge"),), {"governor": governor})
    return stream, values


def codes(result):
    return [finding.code for finding in result.findings]


def test_a_board_that_warms_over_the_runs_of_a_model_is_told_once(tmp_path):
    result = write(tmp_path / "s.kvs", [temperature(lambda t: 40 + t / 10)], [("a", {}), ("b", {})] * 3)

    assert codes(result).count("temperature-drift") == 1
    assert result.models[0].summaries["temperature.ps"].values == pytest.approx([41.5, 45.5, 49.5])


def test_models_that_are_warm_and_cool_in_turn_are_no_drift(tmp_path):
    result = write(tmp_path / "s.kvs", [temperature(lambda t: 60 if t // 20 % 2 else 40)], [("a", {}), ("b", {})] * 3)

    assert codes(result) == []


def test_a_clock_that_falls_under_the_performance_governor_is_throttled(tmp_path):
    streams = [temperature(lambda _: 92), frequency(lambda t: 1.333e9 if t < 15 else 1.0e9, "performance")]
    result = write(tmp_path / "s.kvs", streams, [("a", {})])

    assert codes(result) == ["throttled"]
    assert "cpu0 fell from 1333 to 1000 MHz" in result.findings[0].text


def test_a_clock_that_its_governor_moves_is_told_as_such(tmp_path):
    result = write(tmp_path / "s.kvs", [frequency(lambda t: 1.333e9 if t < 15 else 1.0e9, "ondemand")], [("a", {})])

    assert codes(result) == ["clock-changed"]


@pytest.mark.parametrize(("rate", "expected"), [(49.13, []), (24.6, ["frames-disagree"])])
def test_frames_of_a_command_are_held_against_its_own_rate(tmp_path, rate, expected):
    told = {"executions": 2948, "seconds": 60.0, "details": {"printed_per_second": rate}}
    result = write(tmp_path / "s.kvs", [temperature(lambda _: 40)], [("a", told)])

    assert codes(result) == expected
