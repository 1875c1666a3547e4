"""The deadline loop on a clock of our own: what is read when, what is skipped, what is noted."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import ReadGap
from telemetry.model import Column, Gap
from telemetry.sampling import LATE, LONGEST_SLEEP_NS, Sampler, Track

START = 1_000_000_000_000
MS = 1_000_000


class Done(BaseException):
    """Ends a loop at once, where a stop would be noticed a moment later."""


class ManualClock:
    """Time passes only by sleeping, which overshoots by the next of `delays`, and by `advance`."""

    def __init__(self, delays: Iterator[int] | None = None) -> None:
        self.time_ns = START
        self.done = False
        self._delays = delays

    def now_ns(self) -> int:
        return self.time_ns

    def sleep_until_ns(self, due_ns: int) -> None:
        if self.done:
            raise Done
        if due_ns > self.time_ns:
            self.time_ns = due_ns
        if self._delays is not None:
            self.time_ns += next(self._delays, 0)

    def advance(self, duration_ns: int) -> None:
        self.time_ns += duration_ns


class ScriptedReader:
    """Yields 1, 2, 3...; `script` may fail or take time at the n-th read."""

    columns = (Column("n", "1", "counter"),)
    attributes: Mapping[str, str] = {}

    def __init__(self, reads: int, script: Callable[[int], None] = lambda n: None) -> None:
        self.count = 0
        self._last = reads
        self._script = script
        self.clock: ManualClock | None = None

    def read(self) -> tuple[int, ...]:
        self.count += 1
        if self.count == self._last and self.clock:
            self.clock.done = True
        self._script(self.count)
        return (self.count,)

    def close(self) -> None:
        pass


def sample(clock: ManualClock, *tracks: Track, seed: int = 0) -> None:
    """Run a sampler until the first track's reader has done its reads."""
    tracks[0].reader.clock = clock  # type: ignore[attr-defined]
    with suppress(Done):
        Sampler(clock, list(tracks), random.Random(seed).random).run()


def slots(track: Track, begin_ns: list[int]) -> list[int]:
    return [(begin - START - track.phase_ns) // track.period_ns for begin in begin_ns]


def test_deadlines_are_absolute_whatever_a_read_takes() -> None:
    clock = ManualClock()
    track = Track("a", ScriptedReader(5, lambda n: clock.advance(n * 100_000)), MS)
    sample(clock, track)

    assert [row[0] for row in track.rows] == [START + k * MS for k in range(5)]
    assert [(begin, end) for _, begin, end, _ in track.rows] == [
        (START + k * MS, START + k * MS + (k + 1) * 100_000) for k in range(5)
    ]
    assert track.gaps == []


def test_lateness_is_kept_with_each_reading() -> None:
    delays = [0, 300, 0, 700_000, 0]
    track = Track("a", ScriptedReader(5), MS)
    sample(ManualClock(iter(delays)), track)

    assert [begin - due for due, begin, _, _ in track.rows] == delays


def test_deadlines_that_went_by_are_skipped_and_counted() -> None:
    track = Track("a", ScriptedReader(4), MS)
    sample(ManualClock(iter([0, 5 * MS + 250_000])), track)

    assert [begin - START for _, begin, _, _ in track.rows] == [0, 6 * MS + 250_000, 7 * MS, 8 * MS]
    assert track.rows[1][0] == START + MS
    assert track.gaps == [Gap(START + MS, START + 6 * MS, LATE, 5)]


def test_a_slow_read_costs_the_deadlines_it_covers() -> None:
    clock = ManualClock()
    track = Track("a", ScriptedReader(3, lambda n: clock.advance(2 * MS + 1 if n == 1 else 0)), MS)
    sample(clock, track)

    assert [begin - START for _, begin, _, _ in track.rows] == [0, 2 * MS + 1, 3 * MS]
    assert track.gaps == [Gap(START + MS, START + 2 * MS, LATE, 1)]


def test_failed_reads_are_gaps_and_those_with_one_reason_are_joined() -> None:
    def script(n: int) -> None:
        if n in (2, 3, 4):
            raise ReadGap("busy" if n < 4 else "no such file")
        if n == 6:
            raise ValueError("unforeseen")

    track = Track("a", ScriptedReader(7, script), MS)
    sample(ManualClock(), track)

    assert [row[3] for row in track.rows] == [(1,), (5,), (7,)]
    assert track.gaps == [
        Gap(START + MS, START + 3 * MS, "busy", 2),
        Gap(START + 3 * MS, START + 4 * MS, "no such file", 1),
        Gap(START + 5 * MS, START + 6 * MS, "reader error: ValueError('unforeseen')", 1),
    ]


def test_a_gap_that_another_thread_has_taken_is_not_lengthened() -> None:
    track = Track("a", ScriptedReader(1), MS)
    track.miss(0, MS, "busy", 1)
    track.gaps.pop(0)
    track.miss(MS, 2 * MS, "busy", 1)

    assert track.gaps == [Gap(MS, 2 * MS, "busy", 1)]


def test_tracks_of_several_periods_share_a_loop_by_deadline() -> None:
    order: list[str] = []
    fast = Track("fast", ScriptedReader(11, lambda n: order.append("f")), MS)
    slow = Track("slow", ScriptedReader(99, lambda n: order.append("s")), 5 * MS, phase_ns=MS // 2)
    sample(ManualClock(), fast, slow)

    assert "".join(order) == "fsfffffsfffff"
    assert [due - START for due, *_ in slow.rows] == [MS // 2, 5 * MS + MS // 2]


@pytest.mark.parametrize("period_ns", [MS, 3600_000 * MS])
def test_a_stop_is_noticed_soon_whatever_the_period(period_ns: int) -> None:
    clock = ManualClock()
    track = Track("a", ScriptedReader(10**9, lambda n: sampler.stop()), period_ns)
    sampler = Sampler(clock, [track], random.random)
    sampler.run()

    assert clock.time_ns - START <= LONGEST_SLEEP_NS + MS


def test_a_track_can_join_a_running_loop_soon() -> None:
    reads = 2 * LONGEST_SLEEP_NS // MS
    first = Track("first", ScriptedReader(reads, lambda n: sampler.add(second) if n == 3 else None), MS)
    second = Track("second", ScriptedReader(10**9), MS, phase_ns=MS // 2)
    clock = ManualClock()
    sampler = Sampler(clock, [first], random.random)
    first.reader.clock = clock  # type: ignore[attr-defined]
    with suppress(Done):
        sampler.run()

    joined_ns = second.rows[0][0]
    assert START + 2 * MS < joined_ns <= START + LONGEST_SLEEP_NS + 2 * MS
    assert [due for due, *_ in second.rows] == list(range(joined_ns, START + (reads - 1) * MS, MS))
    assert [due for due, *_ in first.rows] == [START + k * MS for k in range(reads)]


def test_a_loop_without_tracks_ends() -> None:
    Sampler(ManualClock(), [], random.random).run()


delays = st.lists(st.one_of(st.just(0), st.integers(0, 100_000), st.integers(0, 20 * MS)), max_size=60)


@given(delays, st.integers(0, 10**6), st.booleans(), st.integers(0, MS - 1))
def test_every_slot_has_one_reading_or_is_counted_missing(
    delays_ns: list[int], seed: int, jitter: bool, phase_ns: int
) -> None:
    """However late the loop wakes up: no deadline is served twice, none disappears, none is served early."""
    track = Track("a", ScriptedReader(40), MS, jitter=jitter, phase_ns=phase_ns)
    sample(ManualClock(iter(delays_ns)), track, seed=seed)
    begins = [begin for _, begin, _, _ in track.rows]
    missed = sum(gap.missed for gap in track.gaps)

    assert len(track.rows) == 40
    assert all(begin >= due for due, begin, _, _ in track.rows)
    assert all(earlier < later for earlier, later in pairwise(begins))
    assert all(gap.end_ns - gap.start_ns == gap.missed * MS and gap.reason == LATE for gap in track.gaps)
    # The last slot served is the one of the last deadline or of the one that passed since.
    last_slot = len(track.rows) + missed - 1
    assert last_slot <= slots(track, begins[-1:])[0] <= last_slot + 1


@given(st.integers(0, 10**6))
def test_jittered_deadlines_fall_once_in_each_slot_anywhere_in_it(seed: int) -> None:
    track = Track("a", ScriptedReader(400), MS, jitter=True)
    sample(ManualClock(), track, seed=seed)
    offsets = [(due - START) % MS for due, *_ in track.rows]

    assert slots(track, [due for due, *_ in track.rows]) == list(range(400))
    assert min(offsets) < 0.05 * MS
    assert max(offsets) > 0.95 * MS
    # Mean of 400 uniform draws: standard deviation 0.289 / 20 of a slot; five of them.
    assert abs(sum(offsets) / 400 / MS - 0.5) < 5 * 0.289 / 20


@given(st.lists(st.sampled_from(["ok", "busy", "gone"]), min_size=1, max_size=40))
def test_gaps_and_readings_tile_the_time(outcomes: list[str]) -> None:
    def script(n: int) -> None:
        if outcomes[n - 1] != "ok":
            raise ReadGap(outcomes[n - 1])

    track = Track("a", ScriptedReader(len(outcomes), script), MS)
    sample(ManualClock(), track)
    read = dict.fromkeys(slots(track, [begin for _, begin, _, _ in track.rows]), "ok")
    for gap in track.gaps:
        first = (gap.start_ns - START) // MS
        read.update(dict.fromkeys(range(first, first + gap.missed), gap.reason))

    assert [read[slot] for slot in range(len(outcomes))] == outcomes
    assert all(a.end_ns < b.start_ns or a.reason != b.reason for a, b in pairwise(track.gaps))
