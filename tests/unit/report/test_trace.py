"""The trace: a structure that viewers of Trace Events accept, holding what the session holds."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.profile.timeline import Track
from kv260_runtime.report import TIMELINES, timeline_renderer
from kv260_runtime.report.trace import EXECUTIONS, RUNS, SENSORS, assign_lanes
from telemetry.model import Gap


def trace(both, **changes):
    result, timeline = both
    return json.loads(timeline_renderer("trace")(result, replace(timeline, **changes)))


@pytest.fixture(scope="module")
def told(both):
    return trace(both)


def events(told, phase, process=None):
    return [one for one in told["traceEvents"] if one["ph"] == phase and process in (None, one["pid"])]


def test_it_keeps_to_its_published_schema(told, hostile, repository):
    schema = json.loads((repository / "docs/schemas/trace.schema.json").read_text())

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(told, schema)
    jsonschema.validate(trace(hostile), schema)


def test_every_process_and_thread_that_is_used_has_a_name(told):
    named = {one["pid"] for one in events(told, "M") if one["name"] == "process_name"}
    threads = {(one["pid"], one["tid"]) for one in events(told, "M") if one["name"] == "thread_name"}

    assert {one["pid"] for one in told["traceEvents"]} <= named
    assert {(one["pid"], one["tid"]) for one in told["traceEvents"] if one["ph"] in "Xi"} <= threads


def test_spans_of_one_thread_are_nested_or_apart(told):
    for thread in {(one["pid"], one["tid"]) for one in events(told, "X")}:
        spans = [one for one in events(told, "X") if (one["pid"], one["tid"]) == thread]
        open_until: list[float] = []
        for one in sorted(spans, key=lambda one: (one["ts"], -one["dur"])):
            while open_until and open_until[-1] <= one["ts"] + 1e-3:
                open_until.pop()
            assert not open_until or one["ts"] + one["dur"] <= open_until[-1] + 1e-3, one
            open_until.append(one["ts"] + one["dur"])


def test_each_execution_is_a_span_of_its_own_length(told):
    found = events(told, "X", EXECUTIONS)

    assert len(found) == 4 * 300
    assert {one["dur"] for one in found} == {20_000.0}
    assert {one["name"] for one in found} == {"a", "b"}


def test_runs_say_whether_they_count_and_why_not(told):
    runs = [one["args"] for one in events(told, "X", RUNS) if "kept" in one["args"]]

    assert [run["kept"] for run in runs] == [True] * 4 + [False]
    assert runs[-1]["reason"] == "the worker died"
    assert [one["name"] for one in events(told, "i", RUNS)] == ["begin"]


def test_counters_carry_their_unit_and_go_forward_in_time(told):
    names = {one["name"] for one in events(told, "C", SENSORS)}

    assert {"power som [W]", "busy DPU_1 [%]", "memory read [MB/s]", "core cpu0 [%]", "executions [1/s]"} <= names
    for name in names:
        times = [one["ts"] for one in events(told, "C") if one["name"] == name]
        assert all(early < late for early, late in pairwise(times))
    watts = [one["args"]["value"] for one in events(told, "C") if one["name"] == "power som [W]"]
    assert (min(watts), max(watts)) == (5.0, 9.0)


def test_what_was_not_seen_is_no_counter_value_but_a_span_with_its_reason(both):
    timeline = both[1]
    hole = Gap(timeline.start_ns + 10**9, timeline.start_ns + 3 * 10**9, "EBUSY", 200)
    track = Track("power.som", "W", np.full(timeline.bins, np.nan))

    told = trace(both, tracks=(track,), gaps={"power.som": (hole,)})

    assert events(told, "C") == []
    [span] = events(told, "X", SENSORS)
    assert (span["name"], span["ts"], span["dur"]) == ("no power.som", 1e6, 2e6)
    assert span["args"] == {"reason": "EBUSY", "missed": 200}


def test_runs_whose_executions_were_left_out_are_named(both):
    told = trace(both, executions={})

    assert told["otherData"]["runs_without_single_executions"] == [
        "a formal 1",
        "b formal 1",
        "a formal 2",
        "b formal 2",
    ]
    assert not [one for one in told["traceEvents"] if one["pid"] == EXECUTIONS]


def test_completions_without_a_begin_are_instants(both):
    timeline = both[1]
    ends = {run: (None, ended) for run, (_, ended) in timeline.executions.items()}

    told = trace(both, executions=ends)

    assert len(events(told, "i", EXECUTIONS)) == 4 * 300
    assert events(told, "X", EXECUTIONS) == []


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 200)), max_size=60))
def test_executions_on_one_line_never_overlap_and_lines_are_as_few_as_ran_at_once(spans):
    spans = sorted(spans)
    begins, ends = [begin for begin, _ in spans], [begin + length for begin, length in spans]

    lanes = assign_lanes(begins, ends)

    for lane in set(lanes):
        mine = [(begin, end) for begin, end, place in zip(begins, ends, lanes, strict=True) if place == lane]
        assert all(early[1] <= late[0] for early, late in pairwise(mine))
    at_once = [sum(b <= begin < max(e, b + 1) for b, e in zip(begins, ends, strict=True)) for begin in begins]
    assert len(set(lanes)) <= max(at_once, default=0)


def test_a_trace_is_of_bounded_size():
    assert TIMELINES["trace"].most_bins <= 50_000
    assert TIMELINES["trace"].most_executions <= 500_000
