"""What one stream has come to since the service began: counters, latest levels, and how well it was sampled."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from telemetry.model import Gap, Series, Stream
from telemetry.sampling import LATE
from telemetry.service.increments import INTEGRATORS, Increments
from telemetry.service.snapshot import LATE_BOUNDS_SECONDS, StreamTotals

REASONS_MAX = 12
"""Different reasons of gaps that are told apart in one stream."""
OTHER = "other"

_BOUNDS_NS = np.array([bound * 1e9 for bound in LATE_BOUNDS_SECONDS])


class Account:
    """Adds up one stream."""

    def __init__(self, stream: Stream) -> None:
        self.counters: dict[str, float] = {}
        self.levels: dict[str, float] = {}
        self.gaps = Counter({LATE: 0})
        self.samples = 0
        self.uncovered_ns = 0
        self.late_counts = np.zeros(len(LATE_BOUNDS_SECONDS) + 1, np.int64)
        self.late_ns = 0
        self.describe(stream)

    def describe(self, stream: Stream) -> None:
        """Begin anew on what may be another sensor or another recorder, and keep what was counted."""
        self.stream = stream
        opener = INTEGRATORS.get(stream.kind)
        self._integrate = opener() if opener else None
        self._before: Series | None = None

    def add(self, series: Series) -> None:
        """Take on new samples and gaps."""
        for gap in series.gaps:
            self.gaps[self._reason(gap)] += gap.missed
        count = series.t_ns.size
        if count == 0:
            return
        self.samples += count
        self.late_counts += np.bincount(np.searchsorted(_BOUNDS_NS, series.late_ns), minlength=self.late_counts.size)
        self.late_ns += int(series.late_ns.sum())
        self.levels = {c.name: float(series.values[c.name][-1]) for c in series.stream.columns if c.kind == "gauge"}
        if self._integrate is not None:
            stretch = _joined(self._before, series)
            if stretch.t_ns.size >= 2:
                self._count(self._integrate(stretch))
            self._before = _last(stretch)

    def _count(self, increments: Increments) -> None:
        for name, amount in increments.amounts.items():
            self.counters[name] = self.counters.get(name, 0.0) + amount
        self.uncovered_ns += increments.uncovered_ns

    def _reason(self, gap: Gap) -> str:
        """A label of few possible values: what follows a colon is detail."""
        reason = gap.reason.partition(":")[0]
        return reason if reason in self.gaps or len(self.gaps) < REASONS_MAX else OTHER

    def totals(self, effective_hertz: float | None, up: bool, last_ns: int | None) -> StreamTotals:
        """The account as it stands."""
        return StreamTotals(
            self.stream,
            self.samples,
            last_ns,
            dict(self.counters),
            self.levels,
            dict(self.gaps),
            self.uncovered_ns / 1e9,
            tuple(self.late_counts.tolist()),
            self.late_ns / 1e9,
            effective_hertz,
            up,
        )


def _joined(before: Series | None, series: Series) -> Series:
    """The last sample of before, then the new ones."""
    if before is None:
        return series
    values: dict[str, npt.NDArray[Any]] = {
        name: np.concatenate((before.values[name], samples)) for name, samples in series.values.items()
    }
    return Series(
        series.stream,
        np.concatenate((before.t_ns, series.t_ns)),
        np.concatenate((before.late_ns, series.late_ns)),
        values,
        (*before.gaps, *series.gaps),
    )


def _last(stretch: Series) -> Series:
    """The last sample, its states as they hold: 0x0 says nothing, and the sample that does may be long gone."""
    values = {}
    for column in stretch.stream.columns:
        samples = stretch.values[column.name]
        said = samples[samples != 0] if column.kind == "state" else samples
        values[column.name] = (said if said.size else samples)[-1:].copy()
    # A gap that was told before its samples end may belong to the interval that the next sample closes.
    last_ns = stretch.t_ns[-1]
    later = tuple(gap for gap in stretch.gaps if gap.end_ns > last_ns)
    return Series(stretch.stream, stretch.t_ns[-1:].copy(), stretch.late_ns[-1:].copy(), values, later)
