"""The deadline loop: readers on absolute deadlines, each reading with its lateness, each failure a gap."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from telemetry.clock import Clock
from telemetry.errors import ReadGap
from telemetry.model import Gap
from telemetry.readers import Reader

LATE = "late"
"""Reason of a gap in which the loop itself did not get to run, or was held up by a slow reader."""

LONGEST_SLEEP_NS = 200_000_000
"""How long a request to stop or to take on another track may go unnoticed."""

NEVER_NS = 1 << 63

Row = tuple[int, int, int, tuple[Any, ...]]
"""(deadline, begin of the read, end of the read, values)."""

# A track on its schedule, ordered by deadline: (deadline, index, the deadline after it, start of its slot, track).
_Entry = tuple[int, int, int, int, "Track"]


class Track:
    """One reader on its schedule, and what it has read since the last handing over.

    Time is cut into slots [start + phase + k period, start + phase + (k + 1) period), each with one deadline: its start
    or, with `jitter`, an instant drawn uniformly from it, so that sampling cannot lock to the workload.
    A read that begins after the next deadline has passed serves that one; the slots in between have been missed.

    `rows` and `gaps` only grow at their end here, and another thread may take away their heads at any moment: each
    is changed by single appends and pops.
    """

    def __init__(self, name: str, reader: Reader, period_ns: int, *, jitter: bool = False, phase_ns: int = 0) -> None:
        self.name = name
        self.reader = reader
        self.period_ns = period_ns
        self.jitter = jitter
        self.phase_ns = phase_ns
        self.rows: list[Row] = []
        self.gaps: list[Gap] = []

    def miss(self, start_ns: int, end_ns: int, reason: str, missed: int) -> None:
        """Note slots without a sample; joined to the gap before if that ends here for the same reason."""
        gap = Gap(start_ns, end_ns, reason, missed)
        try:
            last = self.gaps.pop()
        except IndexError:
            last = None
        if last is not None:
            if last.end_ns == start_ns and last.reason == reason:
                gap = Gap(last.start_ns, end_ns, reason, last.missed + missed)
            else:
                self.gaps.append(last)
        self.gaps.append(gap)


class Sampler:
    """Reads its tracks, each at its own deadlines, in the thread that calls `run`."""

    def __init__(self, clock: Clock, tracks: list[Track], uniform: Callable[[], float]) -> None:
        self._clock = clock
        self._uniform = uniform
        self._requests: list[Track | None] = list(tracks)
        self._heap: list[_Entry] = []

    def add(self, track: Track) -> None:
        """Take on another track soon; from any thread."""
        self._requests.append(track)

    def stop(self) -> None:
        """Let `run` return soon; from any thread."""
        self._requests.append(None)

    def run(self) -> None:
        """Sample until told to stop, or until there is nothing to sample.

        After a late wake-up the deadlines that went by are skipped and noted, never caught up with in a burst.
        """
        heap = self._heap
        while self._heed():
            due_ns, index, next_ns, slot_ns, track = heapq.heappop(heap)
            soon_ns = self._clock.now_ns() + LONGEST_SLEEP_NS
            if due_ns > soon_ns:
                self._clock.sleep_until_ns(soon_ns)
            else:
                horizon_ns = min(heap[0][0], soon_ns) if heap else soon_ns
                due_ns, next_ns, slot_ns = self._follow(track, due_ns, next_ns, slot_ns, horizon_ns)
            heapq.heappush(heap, (due_ns, index, next_ns, slot_ns, track))

    def _follow(self, track: Track, due_ns: int, next_ns: int, slot_ns: int, horizon_ns: int) -> tuple[int, int, int]:
        """Serve one track up to a horizon, at least once; where it then stands.

        This is the hot path: between two sleeps it does as little as it can, because caches are cold after each.
        """
        now_ns, sleep_until_ns, uniform = self._clock.now_ns, self._clock.sleep_until_ns, self._uniform
        read, keep, period_ns, jitter = track.reader.read, track.rows.append, track.period_ns, track.jitter
        while True:
            sleep_until_ns(due_ns)
            begin_ns = now_ns()
            if begin_ns >= next_ns:
                slot_ns, next_ns = self._skip(track, slot_ns, next_ns, begin_ns)
            try:
                values = read()
                keep((due_ns, begin_ns, now_ns(), values))
            except ReadGap as gap:
                track.miss(slot_ns, slot_ns + period_ns, gap.reason, 1)
            except Exception as error:  # noqa: BLE001 - a faulty reader costs its own samples, not everyone's
                track.miss(slot_ns, slot_ns + period_ns, f"reader error: {error!r}", 1)
            due_ns = next_ns
            slot_ns += period_ns
            next_ns = slot_ns + period_ns
            if jitter:
                next_ns += int(uniform() * period_ns)
            if due_ns > horizon_ns:
                return due_ns, next_ns, slot_ns

    def _skip(self, track: Track, slot_ns: int, next_ns: int, now_ns: int) -> tuple[int, int]:
        """Note missed slots; start of the slot whose deadline passed last, and the first deadline still ahead."""
        served_ns = now_ns - (now_ns - slot_ns) % track.period_ns
        due_ns = next_ns if served_ns == slot_ns + track.period_ns else self._deadline(track, served_ns)
        if due_ns > now_ns:
            served_ns, next_ns = served_ns - track.period_ns, due_ns
        else:
            next_ns = self._deadline(track, served_ns + track.period_ns)
        track.miss(slot_ns, served_ns, LATE, (served_ns - slot_ns) // track.period_ns)
        return served_ns, next_ns

    def _deadline(self, track: Track, slot_ns: int) -> int:
        return slot_ns + int(self._uniform() * track.period_ns) if track.jitter else slot_ns

    def _heed(self) -> bool:
        """Act on the requests; False if one is to stop."""
        while self._requests:
            track = self._requests.pop(0)
            if track is None:
                return False
            slot_ns = self._clock.now_ns() + track.phase_ns
            due_ns, next_ns = self._deadline(track, slot_ns), self._deadline(track, slot_ns + track.period_ns)
            heapq.heappush(self._heap, (due_ns, len(self._heap), next_ns, slot_ns, track))
        return bool(self._heap)
