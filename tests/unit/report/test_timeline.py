"""A session thinned out to bins shows the truth that made it."""

from __future__ import annotations

import numpy as np
import pytest

from kv260_runtime.profile import timeline as module
from kv260_runtime.profile.timeline import bin_width_ns, read_timeline
from telemetry.model import Window
from telemetry.session.log import SessionLog
from telemetry.session.reader import SessionReader
from tests.unit.profile import synthetic
from tests.unit.report import sessions

TRUTH = synthetic.Truth()


def track(timeline, name):
    return next(one for one in timeline.tracks if one.name == name)


def inside(timeline, window):
    """The bins that lie wholly in a window, two further in at each end."""
    edges = timeline.edges_ns
    return np.flatnonzero((edges[:-1] >= window.start_ns) & (edges[1:] <= window.end_ns))[2:-2]


def test_levels_shares_and_rates_in_a_run_are_those_of_the_truth(timeline):
    bins = inside(timeline, timeline.bands[0].window)

    assert track(timeline, "power.som").mean[bins] == pytest.approx(TRUTH.run_watts, rel=1e-9)
    assert track(timeline, "busy.DPU_1").mean[bins].mean() == pytest.approx(0.75, abs=0.06)
    assert track(timeline, "executions").mean[bins] == pytest.approx(50.0, rel=1e-9)
    assert track(timeline, "memory.read").mean[bins] == pytest.approx(30e6 * 50 + 1e6, rel=1e-6)
    assert track(timeline, "core.cpu0").mean[bins] == pytest.approx(TRUTH.cpu_share, rel=1e-9)


def test_idle_is_idle_and_nothing_is_executed_in_it(timeline):
    bins = inside(timeline, timeline.bands[0].idle[0])

    assert track(timeline, "power.som").mean[bins] == pytest.approx(TRUTH.idle_watts, rel=1e-9)
    assert track(timeline, "busy.DPU_1").mean[bins].max() == 0.0
    assert np.isnan(track(timeline, "executions").mean[bins]).all()


def test_power_steps_where_the_load_does_although_its_sensor_is_late(session):
    with SessionReader(session) as source:
        fine = read_timeline(source, 10**6, 10_000_000)
    power = track(fine, "power.som").mean
    step = int(np.argmax(power > 7.0)) * fine.bin_ns + fine.start_ns

    assert step == pytest.approx(fine.bands[0].window.start_ns, abs=2 * fine.bin_ns)


def test_reading_in_small_pieces_changes_nothing(session, monkeypatch):
    with SessionReader(session) as source:
        whole = read_timeline(source, 400, 10_000_000)
        monkeypatch.setattr(module, "SAMPLES_AT_ONCE", 700)
        pieces = read_timeline(source, 400, 10_000_000)

    for one, other in zip(whole.tracks, pieces.tracks, strict=True):
        assert np.allclose(one.mean, other.mean, rtol=1e-9, atol=1e-9, equal_nan=True), one.name


def test_bands_are_all_runs_with_their_verdicts(timeline):
    assert [(band.model, band.kept) for band in timeline.bands] == [
        ("a", True),
        ("b", True),
        ("a", True),
        ("b", True),
        ("a", False),
    ]
    excluded = timeline.bands[-1]
    assert excluded.window is None
    assert excluded.reason == "the worker died"
    assert excluded.idle == (Window(sessions.EXCLUDED_NS, sessions.EXCLUDED_NS + synthetic.SECOND),)
    assert [marker.name for marker in timeline.bands[0].markers] == ["begin"]


def test_executions_are_taken_run_by_run_while_there_is_room(session):
    with SessionReader(session) as source:
        found = read_timeline(source, 400, 10_000_000, 700).executions

    assert [len(ended) for _, ended in found.values()] == [300, 300]


@pytest.mark.parametrize("seconds", [1, 7, 59, 3600, 86_400])
@pytest.mark.parametrize("most", [1, 400, 1200])
def test_bins_are_round_and_few_enough(seconds, most):
    width = bin_width_ns(Window(0, seconds * 10**9), most, 10_000_000)

    assert width >= 10_000_000
    assert seconds * 10**9 / width <= most
    assert str(width).rstrip("0") in ("1", "2", "5")


def test_a_session_without_samples_or_runs_is_an_empty_timeline(tmp_path):
    path = tmp_path / "empty.kvs"
    SessionLog.create(path).close()

    with SessionReader(path) as source:
        timeline = read_timeline(source, 100, 10_000_000)

    assert (timeline.tracks, timeline.bands) == ((), ())
