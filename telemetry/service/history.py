"""The latest minutes of a stream in memory of a fixed size."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from telemetry.feed import Samples
from telemetry.model import Column, Gap, Int64Array, Series, Stream

ROWS_MAX = 1_000_000
SPARE = 4
"""A quarter more rows than are kept, so that old ones are moved away once in a while instead of at each addition."""
GAPS_MAX = 1000


def series_of(stream: Stream, samples: Samples, gaps: Sequence[Gap] = ()) -> Series:
    """Samples of a frame as a series."""
    columns = zip(stream.columns, samples.columns, strict=True)
    values: dict[str, npt.NDArray[Any]] = {column.name: np.frombuffer(data, _dtype(column)) for column, data in columns}
    return Series(
        stream,
        np.frombuffer(samples.t_ns, np.int64),
        np.frombuffer(samples.late_ns, np.int64),
        values,
        tuple(gaps),
    )


class History:
    """Samples and gaps of one stream over `span_ns`; the series it gives are views, good until the next addition."""

    def __init__(self, stream: Stream, span_ns: int) -> None:
        self.stream = stream
        self._rows = max(min(span_ns // stream.period_ns, ROWS_MAX), 2)
        capacity = self._rows + self._rows // SPARE + 1
        self._t_ns = np.zeros(capacity, np.int64)
        self._late_ns = np.zeros(capacity, np.int64)
        self._values: dict[str, npt.NDArray[Any]] = {
            column.name: np.zeros(capacity, _dtype(column)) for column in stream.columns
        }
        self._used = 0
        self._gaps: deque[Gap] = deque(maxlen=GAPS_MAX)

    def add(self, series: Series) -> None:
        """Take on samples and gaps later than all before."""
        self._gaps.extend(series.gaps)
        t_ns, capacity = series.t_ns[-self._rows :], self._t_ns.size
        count = t_ns.size
        if series.t_ns.size > self._rows:
            self._used = 0
        if self._used + count > capacity:
            kept = min(self._used, self._rows - count)
            for array in self._arrays():
                array[:kept] = array[self._used - kept : self._used].copy()
            self._used = kept
        place = slice(self._used, self._used + count)
        self._t_ns[place] = t_ns
        self._late_ns[place] = series.late_ns[-self._rows :]
        for name, values in series.values.items():
            self._values[name][place] = values[-self._rows :]
        self._used += count

    def since(self, start_ns: int) -> Series:
        """From the last sample at or before `start_ns` on; all there is if that is older."""
        first = max(int(np.searchsorted(self._times(), start_ns, side="right")) - 1, 0)
        return Series(
            self.stream,
            self._t_ns[first : self._used],
            self._late_ns[first : self._used],
            {name: values[first : self._used] for name, values in self._values.items()},
            tuple(gap for gap in self._gaps if gap.end_ns >= start_ns),
        )

    @property
    def last_ns(self) -> int | None:
        """When the latest sample was read."""
        return int(self._t_ns[self._used - 1]) if self._used else None

    def effective_hertz(self, span_ns: int) -> float | None:
        """Samples per second over the latest `span_ns`; None for fewer than two."""
        times = self._times()
        if times.size < 2:
            return None
        first = min(int(np.searchsorted(times, times[-1] - span_ns)), times.size - 2)
        return float((times.size - 1 - first) * 1e9 / (times[-1] - times[first]))

    def _times(self) -> Int64Array:
        return self._t_ns[: self._used]

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [self._t_ns, self._late_ns, *self._values.values()]


def _dtype(column: Column) -> type[np.generic]:
    return np.int64 if column.is_integer else np.float64
