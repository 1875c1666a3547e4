"""The readers of a board profile, opened, sorted into loops, and what they have read handed to the session file."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import sub
from pathlib import Path
from typing import Any

from telemetry.boards import BoardProfile, StreamPlan
from telemetry.clock import Clock
from telemetry.errors import SensorNotFound, SessionError, TelemetryError
from telemetry.feed import FeedWriter
from telemetry.files import Files
from telemetry.model import Gap, Stream
from telemetry.protocol import StreamSummary
from telemetry.readers import open_kind
from telemetry.sampling import Row, Sampler, Track
from telemetry.session import ChunkWriter
from telemetry.session.packing import typecode

LATE_NS = 1_000_000
"""A sample this long after its deadline is counted as late."""


@dataclass
class Instrument:
    """One stream being recorded, and its account."""

    stream: Stream
    track: Track
    samples: int = 0
    missed: int = 0
    late: int = 0
    unwritten: Gap | None = None
    """Samples that could not be written, to be confessed as a gap once the file can be written again."""


@dataclass(frozen=True)
class Batch:
    """Samples of one stream on their way to the file."""

    t_ns: array[int]
    late_ns: array[int]
    columns: list[array[Any]]


_Taken = tuple[str, Instrument, Batch | None, list[Gap]]
"""Name of a stream, its account, and what was read from it."""


@dataclass
class Instruments:
    """All streams of a recording."""

    files: Files
    root: Path
    clock: Clock
    samplers: dict[str, Sampler] = field(default_factory=dict)
    """One loop per group of the profile's streams."""
    opened: dict[str, Instrument] = field(default_factory=dict)
    missing: dict[str, tuple[StreamPlan, str]] = field(default_factory=dict)
    """Kind to the plan that found no sensor, and why."""
    started_ns: int = 0

    def open(self, board: BoardProfile) -> None:
        """Open what the board offers.

        Raises SensorNotFound, naming the first, if a required one is missing or none is there at all.
        """
        self.started_ns = self.clock.now_ns()
        for plan in board.streams:
            self._open(plan)
        for plan, reason in self.missing.values():
            if plan.required:
                raise SensorNotFound(f"{board.title} needs {plan.kind}: {reason}")
        if not self.opened:
            reasons = "; ".join(f"{plan.kind}: {reason}" for plan, reason in self.missing.values())
            raise SensorNotFound(f"{board.title}: no sensor can be read ({reasons})")

    def retry(self) -> list[Stream]:
        """Try again what is missing; the streams that have appeared since."""
        known = set(self.opened)
        reasons = {kind: reason for kind, (_, reason) in self.missing.items()}
        for plan, _ in list(self.missing.values()):
            self._open(plan)
        now_ns = self.clock.now_ns()
        found = [self.opened[name] for name in self.opened.keys() - known]
        for instrument in found:
            slots = (now_ns - self.started_ns) // instrument.track.period_ns
            instrument.track.miss(self.started_ns, now_ns, reasons[instrument.stream.kind], slots)
        return [instrument.stream for instrument in found]

    def _open(self, plan: StreamPlan) -> None:
        try:
            readers = open_kind(plan.kind, self.files, self.root, plan.options)
        except (TelemetryError, OSError) as error:
            self.missing[plan.kind] = (plan, str(error))
            return
        self.missing.pop(plan.kind, None)
        period_ns = round(plan.period_ms * 1e6)
        sampler = self.samplers.setdefault(plan.group, Sampler(self.clock, [], random.random))
        for name, reader in readers:
            if name in self.opened:
                reader.close()
                self.missing[plan.kind] = (plan, f"the profile has a second stream {name!r}")
                continue
            # Streams of one period start side by side in their slots, not on top of each other.
            phase_ns = len(self.opened) * period_ns // 16 % period_ns
            track = Track(name, reader, period_ns, jitter=plan.jitter, phase_ns=phase_ns)
            stream = Stream(name, plan.kind, period_ns, reader.columns, dict(reader.attributes))
            self.opened[name] = Instrument(stream, track)
            sampler.add(track)

    def hand_over(self, writer: ChunkWriter | None, feed: FeedWriter | None = None) -> str | None:
        """Write all that was read up to now, in one transaction; why it could not be written, or None.

        What cannot be written is given up, counted and confessed later: memory is for the board's own work.
        """
        now_ns = self.clock.now_ns()
        taken = [(name, instrument, *_take(instrument)) for name, instrument in self.opened.items()]
        fault = self._write(writer, taken)
        if feed is not None:
            samples = {name: (batch.t_ns, batch.late_ns, batch.columns) for name, _, batch, _ in taken if batch}
            gaps = [(name, gap) for name, _, _, found in taken for gap in found]
            feed.send(now_ns, samples, gaps, self.missing_kinds(), fault)
        return fault

    def missing_kinds(self) -> dict[str, str]:
        """Kinds of the profile that found no sensor, and why."""
        return {plan.kind: reason for plan, reason in self.missing.values()}

    def _write(self, writer: ChunkWriter | None, taken: Sequence[_Taken]) -> str | None:
        if writer is None:
            return None
        try:
            with writer.transaction():
                for name, instrument, batch, gaps in taken:
                    if batch:
                        writer.chunk(name, batch.t_ns, batch.late_ns, batch.columns)
                    for gap in (*gaps, *filter(None, [instrument.unwritten])):
                        writer.gap(name, gap)
        except SessionError as error:
            for _, instrument, batch, gaps in taken:
                _give_up(instrument, batch, gaps)
            return str(error)
        for _, instrument, _, _ in taken:
            instrument.unwritten = None
        return None

    def close(self) -> None:
        """Give all sensors back; only when no loop reads them any more."""
        for instrument in self.opened.values():
            instrument.track.reader.close()

    def summary(self) -> dict[str, StreamSummary]:
        """The account of every stream."""
        return {name: StreamSummary(i.samples, i.missed, i.late) for name, i in self.opened.items()}


def _take(instrument: Instrument) -> tuple[Batch | None, list[Gap]]:
    """Take what a track has read, from under the loop that goes on appending to it."""
    track = instrument.track
    count = len(track.rows)
    rows = track.rows[:count]
    del track.rows[:count]
    gaps = list(_emptied(track.gaps))
    batch = None
    if rows:
        try:
            batch = _batch(rows, [typecode(column) for column in instrument.stream.columns])
        except (TypeError, ValueError, OverflowError) as error:
            gaps.append(Gap(rows[0][1], rows[-1][2], f"reader error: {error}", count))
        else:
            instrument.samples += count
            if max(batch.late_ns) > LATE_NS:
                instrument.late += sum(map(LATE_NS.__lt__, batch.late_ns))
    instrument.missed += sum(gap.missed for gap in gaps)
    return batch, gaps


def _emptied(gaps: list[Gap]) -> Iterator[Gap]:
    while gaps:
        yield gaps.pop(0)


def _batch(rows: Sequence[Row], codes: list[Any]) -> Batch:
    """Rows to columns; a sample's time is the middle of its read."""
    due_ns, begin_ns, end_ns, values = zip(*rows, strict=True)
    columns = [array(code, column) for code, column in zip(codes, zip(*values, strict=True), strict=True)]
    t_ns = array("q", [(begin + end) >> 1 for begin, end in zip(begin_ns, end_ns, strict=True)])
    return Batch(t_ns, array("q", map(sub, begin_ns, due_ns)), columns)


def _give_up(instrument: Instrument, batch: Batch | None, gaps: list[Gap]) -> None:
    """Note what was not written, as one span."""
    lost = [(gap.start_ns, gap.end_ns, gap.missed) for gap in gaps]
    if batch:
        count = len(batch.t_ns)
        lost.append((batch.t_ns[0], batch.t_ns[-1], count))
        instrument.samples -= count
        instrument.missed += count
    if instrument.unwritten:
        lost.append((instrument.unwritten.start_ns, instrument.unwritten.end_ns, instrument.unwritten.missed))
    if lost:
        starts, ends, counts = zip(*lost, strict=True)
        instrument.unwritten = Gap(min(starts), max(ends), "the session file could not be written", sum(counts))
