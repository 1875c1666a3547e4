"""All that the service knows of its board: each stream's history and account, fed by frames, read as snapshots."""

from __future__ import annotations

from collections.abc import Mapping

from telemetry.errors import TelemetryError
from telemetry.feed import Frame, Samples
from telemetry.model import Gap, Series, Stream
from telemetry.service.history import History, series_of
from telemetry.service.snapshot import Snapshot, StreamTotals
from telemetry.service.totals import Account

HERTZ_OVER_NS = 10_000_000_000
HERTZ_OVER_PERIODS = 10
DOWN_AFTER_NS = 5_000_000_000
DOWN_AFTER_PERIODS = 3
"""A stream without a sample for the longer of both is down, and shows no values."""


class Ledger:
    """Takes frames; keeps `span_ns` of samples, and counters without end."""

    def __init__(self, span_ns: int) -> None:
        self._span_ns = span_ns
        self._histories: dict[str, History] = {}
        self._accounts: dict[str, Account] = {}
        self._retired: set[str] = set()
        self._heard_ns: dict[str, int] = {}
        self._described_ns: dict[str, int] = {}
        self.last = Frame(0)
        """The latest frame; its time is 0 before the first of a recorder."""

    @property
    def histories(self) -> Mapping[str, History]:
        """Present streams by name."""
        return {name: history for name, history in self._histories.items() if name not in self._retired}

    def streams(self) -> list[Stream]:
        """Present streams in the order they appeared."""
        return [history.stream for history in self.histories.values()]

    def retire_all(self) -> None:
        """The recorder ends; streams of the next one go on counting where those of the same name were."""
        self._retired = set(self._histories)
        self.last = Frame(0)

    def take(self, frame: Frame) -> list[Series]:
        """Take on a frame; what is new of each stream that it mentions."""
        for stream in frame.streams:
            self._describe(stream, frame.t_ns)
        gaps: dict[str, list[Gap]] = {}
        for name, gap in frame.gaps:
            gaps.setdefault(name, []).append(gap)
        fresh = {samples.stream: samples for samples in frame.samples}
        taken = []
        for name in self._histories:
            if name in fresh:
                taken.append(series_of(self._histories[name].stream, fresh.pop(name), gaps.pop(name, ())))
            elif name in gaps:
                taken.append(_without_samples(self._histories[name].stream, gaps.pop(name)))
        if fresh or gaps:
            raise TelemetryError(f"the recorder sent samples of streams it never described: {[*fresh, *gaps]}")
        for series in taken:
            self._histories[series.stream.name].add(series)
            self._accounts[series.stream.name].add(series)
            self._heard_ns[series.stream.name] = frame.t_ns
        self.last = frame
        return taken

    def silent(self, now_ns: int, longest_ns: int) -> list[str]:
        """Streams of which nothing was heard, neither sample nor gap, for so long or three periods: a loop hangs."""
        return [
            name
            for name, history in self.histories.items()
            if now_ns - self._heard_ns[name] > max(longest_ns, DOWN_AFTER_PERIODS * history.stream.period_ns)
        ]

    def snapshot(self, now_ns: int) -> Snapshot:
        """How all stands; what has been silent for too long by now is down."""
        frame = self.last
        streams = tuple(self._totals(name, history, now_ns) for name, history in self.histories.items())
        return Snapshot(frame.t_ns, streams, frame.missing, frame.fault)

    def _totals(self, name: str, history: History, now_ns: int) -> StreamTotals:
        period_ns, last_ns = history.stream.period_ns, history.last_ns
        patience_ns = max(DOWN_AFTER_NS, DOWN_AFTER_PERIODS * period_ns)
        since_ns = self._described_ns[name] if last_ns is None else last_ns
        up = now_ns - since_ns <= patience_ns
        hertz = history.effective_hertz(max(HERTZ_OVER_NS, HERTZ_OVER_PERIODS * period_ns)) if up else None
        return self._accounts[name].totals(hertz, up, last_ns)

    def _describe(self, stream: Stream, t_ns: int) -> None:
        name = stream.name
        self._histories[name] = History(stream, self._span_ns)
        self._heard_ns[name] = self._described_ns[name] = t_ns
        self._retired.discard(name)
        if name in self._accounts:
            self._accounts[name].describe(stream)
        else:
            self._accounts[name] = Account(stream)


def _without_samples(stream: Stream, gaps: list[Gap]) -> Series:
    return series_of(stream, Samples(stream.name, b"", b"", [b""] * len(stream.columns)), gaps)
