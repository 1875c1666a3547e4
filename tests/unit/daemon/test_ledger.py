"""What is kept of frames: a bounded past, accounts without end, snapshots that never change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import TelemetryError
from telemetry.feed import Frame
from telemetry.model import Gap
from telemetry.service.history import History
from telemetry.service.ledger import Ledger
from telemetry.service.snapshot import StreamTotals
from tests.unit.daemon.frames import CU, MS, POWER, SECOND, TEMPERATURE, frame, series


def only(ledger: Ledger) -> StreamTotals:
    [totals] = ledger.snapshot(ledger.last.t_ns).streams
    return totals


def watched(*frames: Frame) -> Ledger:
    ledger = Ledger(60 * SECOND)
    for one in frames:
        ledger.take(one)
    return ledger


@given(sizes=st.lists(st.integers(1, 70), min_size=1, max_size=30))
def test_a_history_keeps_the_latest_samples_in_order(sizes: list[int]) -> None:
    history, count = History(POWER, 50 * POWER.period_ns), 0
    for size in sizes:
        t_ns = 10 * MS * np.arange(count, count + size)
        history.add(series(POWER, t_ns, np.arange(count, count + size)))
        count += size
        kept = history.since(0)
        assert kept.t_ns.tolist() == (10 * MS * np.arange(count - kept.t_ns.size, count)).tolist()
        assert kept.values["watts"].tolist() == list(range(count - kept.t_ns.size, count))
        assert min(count, 50) <= kept.t_ns.size <= 63
        assert history.last_ns == kept.t_ns[-1]


def test_a_history_gives_the_sample_before_the_span_too_and_its_gaps() -> None:
    history = History(POWER, SECOND)
    gaps = (Gap(0, 5, "late", 1), Gap(25 * MS, 35 * MS, "vanished", 1))
    history.add(series(POWER, [10 * MS, 20 * MS, 40 * MS], 5.0, gaps=gaps))
    found = history.since(22 * MS)
    assert found.t_ns.tolist() == [20 * MS, 40 * MS]
    assert found.gaps == gaps[1:]
    assert history.since(99 * SECOND).t_ns.tolist() == [40 * MS]


def test_an_empty_history_is_no_fault() -> None:
    history = History(POWER, SECOND)
    assert (history.last_ns, history.effective_hertz(SECOND)) == (None, None)
    assert history.since(0).t_ns.size == 0


def test_effective_hertz_counts_the_latest_samples_only() -> None:
    history = History(POWER, 60 * SECOND)
    history.add(series(POWER, 100 * MS * np.arange(20), 5.0))
    history.add(series(POWER, 2 * SECOND + 10 * MS * np.arange(101), 5.0))
    assert history.effective_hertz(SECOND) == pytest.approx(100.0)
    assert history.effective_hertz(1) == pytest.approx(100.0)


def test_a_snapshot_does_not_change_with_later_frames() -> None:
    ledger = watched(frame(SECOND, series(POWER, [0, 10 * MS], 5.0), streams=[POWER]))
    before = ledger.snapshot(ledger.last.t_ns)
    ledger.take(frame(2 * SECOND, series(POWER, [20 * MS, 30 * MS], 7.0, gaps=(Gap(1, 2, "vanished", 4),))))
    assert before.streams[0].counters["joules"] == pytest.approx(0.05)
    assert (before.streams[0].samples, before.streams[0].gaps) == (2, {"late": 0})
    assert only(ledger).gaps == {"late": 0, "vanished": 4}


def test_a_stream_that_falls_silent_is_down_and_comes_up_again_with_its_count() -> None:
    ledger = watched(frame(SECOND, series(POWER, 10 * MS * np.arange(101), 5.0), streams=[POWER]))
    assert only(ledger).up
    ledger.take(frame(7 * SECOND, series(POWER, [], [], gaps=(Gap(SECOND, 7 * SECOND, "vanished", 600),))))
    down = only(ledger)
    assert (down.up, down.effective_hertz) == (False, None)
    ledger.take(frame(9 * SECOND, series(POWER, 8 * SECOND + 10 * MS * np.arange(101), 5.0)))
    assert only(ledger).up
    assert only(ledger).counters["joules"] == pytest.approx(10.0)


def test_a_slow_stream_is_not_down_between_its_samples() -> None:
    slow = TEMPERATURE.__class__("temperature", "thermal", 60 * SECOND, TEMPERATURE.columns)
    ledger = watched(frame(SECOND, series(slow, [SECOND], 40.0), streams=[slow]), frame(100 * SECOND))
    assert only(ledger).up


def test_a_loop_is_silent_when_it_neither_reads_nor_misses_anything() -> None:
    ledger = watched(frame(SECOND, series(POWER, [0], 5.0), streams=[POWER, CU]))
    ledger.take(frame(20 * SECOND, series(POWER, [], [], gaps=(Gap(0, SECOND, "vanished", 99),))))
    assert ledger.silent(20 * SECOND, 10 * SECOND) == ["cu"]


def test_a_recorder_that_says_nothing_any_more_leaves_all_its_streams_down() -> None:
    ledger = watched(frame(SECOND, series(POWER, [SECOND], 5.0), series(CU, [SECOND], 4, 0, 0), streams=[POWER, CU]))
    assert [totals.up for totals in ledger.snapshot(6 * SECOND).streams] == [True, True]
    assert [totals.up for totals in ledger.snapshot(7 * SECOND).streams] == [False, False]
    assert ledger.silent(10 * SECOND, 10 * SECOND) == []
    assert ledger.silent(12 * SECOND, 10 * SECOND) == ["power.som", "cu"]


def test_streams_of_the_next_recorder_go_on_counting_and_others_are_gone() -> None:
    ledger = watched(frame(SECOND, series(POWER, [0, 10 * MS], 5.0), series(CU, [0, MS], 4, 0, 0), streams=[POWER, CU]))
    ledger.retire_all()
    assert ledger.snapshot(ledger.last.t_ns).streams == ()
    ledger.take(frame(3 * SECOND, series(POWER, [2 * SECOND, 2 * SECOND + 10 * MS], 5.0), streams=[POWER]))
    assert only(ledger).counters["joules"] == pytest.approx(0.1)
    assert only(ledger).samples == 4
    assert [one.name for one in ledger.streams()] == ["power.som"]


def test_samples_of_a_stream_that_was_never_described_are_a_fault_of_the_recorder() -> None:
    with pytest.raises(TelemetryError, match=r"never described: \['power.som'\]"):
        watched(frame(SECOND, series(POWER, [0], 5.0)))


def test_what_is_missing_and_what_the_raw_file_said_stand_in_the_snapshot() -> None:
    found = watched(Frame(SECOND, missing={"apm": "no monitor"}, fault="disk full")).snapshot(SECOND)
    assert (found.t_ns, dict(found.missing), found.fault) == (SECOND, {"apm": "no monitor"}, "disk full")
