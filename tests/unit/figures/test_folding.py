"""Energy of the parts of an execution: right, honest about its error, and refused where it cannot be told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.figures.folding import fold
from telemetry.figures.phases import execution_phases
from tests.unit.figures.folded import CU, MS, Part, Workload

PARTS = (
    Part(2, 5.05, run=False),
    Part(40, 9.1, run=True),
    Part(1, 5.05, run=False),
    Part(30, 7.0, run=True),
    Part(1, 5.05, run=False),
    Part(50, 8.2, run=True),
)
LONG = Workload(PARTS)


def test_three_runs_of_known_power_are_told_apart_and_add_up():
    found = LONG.folded()
    runs = [segment for segment in found.segments if segment.kind == "dpu"]
    assert [segment.name for segment in runs] == ["run 1", "run 2", "run 3"]
    assert [segment.joules.value for segment in runs] == pytest.approx([0.364, 0.21, 0.41], rel=0.003)
    assert [segment.watts.value for segment in runs] == pytest.approx([9.1, 7.0, 8.2], rel=0.003)
    assert found.joules.value == pytest.approx(sum(LONG.joules()), rel=0.001)
    assert found.joules.value == pytest.approx(found.total_joules, rel=0.001)
    assert found.refused == {}
    assert sum(segment.joules.value for segment in found.segments) == pytest.approx(found.joules.value)


def test_nine_intervals_in_ten_or_more_cover_the_truth():
    """95 % are promised; 40 sessions of three runs can fall to 90 % by chance one time in a hundred."""
    truth = [0.364, 0.21, 0.41]
    covered = []
    for seed in range(40):
        found = dataclasses.replace(LONG, seed=seed, seconds=25.0).folded()
        runs = [segment for segment in found.segments if segment.kind == "dpu"]
        covered += [run.joules.low <= joules <= run.joules.high for run, joules in zip(runs, truth, strict=True)]
    assert np.mean(covered) >= 0.9


@given(
    st.lists(st.tuples(st.floats(15, 60), st.floats(5.5, 12)), min_size=1, max_size=4),
    st.floats(1.5, 8),
    st.sampled_from([8.8, 4.4]),
    st.integers(0, 2**16),
)
@settings(max_examples=25, deadline=None)
def test_any_parts_longer_than_the_window_are_found_within_their_intervals_or_refused(runs, gap, averaging, seed):
    parts = [part for length, watts in runs for part in (Part(gap, 5.0, run=False), Part(length, watts, run=True))]
    workload = Workload(parts, seconds=30.0, averaging_ms=averaging, jitter_ms=0.3, seed=seed)
    try:
        found = workload.folded()
    except NotCovered as refusal:
        assert "keep step" in str(refusal) or "tell the parts apart" in str(refusal)
        return
    truth = {f"run {i + 1}": length * watts / 1e3 for i, (length, watts) in enumerate(runs)}
    for segment in found.segments:
        if segment.kind == "dpu" and found.independent:
            # A search for the worst draw finds errors beyond 95 %, and never a tenth of what the figure is good for.
            error = abs(segment.joules.value - truth[segment.name])
            assert error < max(2 * segment.joules.half_width, 0.01 * truth[segment.name])
    assert found.joules.value == pytest.approx(sum(workload.joules()), rel=0.005, abs=2 * found.joules.half_width)


def test_a_long_stay_on_the_host_is_a_part_of_its_own():
    parts = (Part(2, 5.0, run=False), Part(30, 9.0, run=True), Part(25, 5.5, run=False), Part(30, 7.0, run=True))
    found = Workload(parts).folded()
    by_name = {segment.name: segment.watts.value for segment in found.segments}
    assert by_name["host after run 1"] == pytest.approx(5.5, rel=0.005)
    assert list(by_name) == ["host", "run 1", "host after run 1", "run 2"]


def test_a_run_shorter_than_the_window_is_refused_and_the_others_are_right():
    parts = (Part(2, 5.0, run=False), Part(6, 9.0, run=True), Part(35, 7.0, run=True))
    found = Workload(parts).folded()
    assert "lasts 6.0 ms, the sensor averages over 8.8 ms" in found.refused["run 1"]
    [run] = [segment for segment in found.segments if segment.kind == "dpu"]
    assert (run.name, run.joules.value) == ("run 2", pytest.approx(0.245, rel=0.005))


def test_runs_that_are_all_too_short_are_refused_as_a_whole():
    with pytest.raises(NotCovered, match=r"longest lasts 3\.0 ms"):
        Workload((Part(2, 5.0, run=False), Part(3, 9.0, run=True), Part(3, 7.0, run=True))).folded()


def test_executions_in_step_with_the_readings_are_refused():
    with pytest.raises(NotCovered, match="keep step"):
        Workload((Part(10, 5.0, run=False), Part(10, 9.0, run=True)), jitter_ms=0.0).folded()


@pytest.mark.parametrize(
    ("seconds", "period_ms", "reason"), [(2.0, 10.0, "20 needed to fold them"), (6.0, 37.0, "measure for longer")]
)
def test_too_few_executions_or_readings_are_refused(seconds, period_ms, reason):
    with pytest.raises(NotCovered, match=reason):
        dataclasses.replace(LONG, seconds=seconds, period_ms=period_ms).folded()


def test_a_sensor_of_unknown_averaging_time_is_refused():
    power, cu, completions, window = LONG.observed()
    bare = dataclasses.replace(power, stream=dataclasses.replace(power.stream, attributes={}))
    with pytest.raises(NotCovered, match="no known averaging time"):
        fold(bare, cu, CU, completions, window, 3)


def test_another_number_of_runs_than_the_model_has_is_refused():
    power, cu, completions, window = LONG.observed()
    with pytest.raises(NotCovered, match=r"0 of \d+ executions show 2 runs"):
        fold(power, cu, CU, completions, window, 2)


def test_edges_are_found_far_more_closely_than_samples_lie_apart():
    _, cu, completions, window = LONG.observed()
    phases = execution_phases(cu, CU, completions, window, 3)
    lengths = np.diff(phases.edges_ns, axis=1)[:, ::2].mean(axis=0)
    assert lengths / MS == pytest.approx([40, 30, 50], abs=0.12)
    assert np.all(phases.edges_u_ns < 0.05 * MS)


def test_an_execution_that_was_not_sampled_is_left_out():
    power, cu, completions, window = LONG.observed()
    hole = (cu.t_ns < completions[100]) | (cu.t_ns > completions[101])
    holed = dataclasses.replace(
        cu, t_ns=cu.t_ns[hole], late_ns=cu.late_ns[hole], values={name: v[hole] for name, v in cu.values.items()}
    )
    found = fold(power, holed, CU, completions, window, 3)
    assert 1 <= found.left_out <= 3
    assert found.segments[1].joules.value == pytest.approx(0.364, rel=0.005)


def test_commands_that_follow_at_once_are_told_apart_by_the_count_of_dispatches():
    parts = (Part(2, 5.0, run=False), Part(40, 9.0, run=True), Part(0, 5.0, run=False), Part(37, 6.0, run=True))
    found = Workload(parts, jitter_ms=0.0).folded()
    assert [segment.joules.value for segment in found.segments[1:]] == pytest.approx([0.36, 0.222], rel=0.003)
