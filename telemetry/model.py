"""The vocabulary of telemetry: columns, streams, series, gaps, markers and windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Int64Array = npt.NDArray[np.int64]
    Float64Array = npt.NDArray[np.float64]
else:
    # The recorder uses columns and streams but no arrays; numpy would cost a board half a second at its start.
    Int64Array = Float64Array = Any

ColumnKind = Literal["gauge", "counter", "state"]
"""A gauge is a level, a counter only grows (modulo `wrap`), a state is a small integer that holds until it changes."""


@dataclass(frozen=True)
class Column:
    """One value of a reading: its name, SI unit and how it behaves."""

    name: str
    unit: str
    kind: ColumnKind
    wrap: float | None = None
    """The modulus of a counter that wraps, in its unit (2**32 for an APM counter); None if it does not."""

    @property
    def is_integer(self) -> bool:
        """States, counts and bytes are whole numbers (int64); levels, seconds and joules are not (float64)."""
        return self.kind == "state" or (self.kind == "counter" and self.unit in ("1", "B"))


@dataclass(frozen=True)
class Stream:
    """A series as it is being recorded: one reader at one period."""

    name: str
    """Unique in a session, e.g. `cu`, `power.som`, `apm`, `cpu`."""
    kind: str
    """The kind of reader that produced it (a key of telemetry.readers.READERS), e.g. `xrt-cu`."""
    period_ns: int
    columns: tuple[Column, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What figures must know: `averaging_ns`, `covers`, `chip`, `gain_u`, `offset_u_watts`, `resolution_watts`."""


@dataclass(frozen=True)
class Series:
    """Samples of one stream, oldest first."""

    stream: Stream
    t_ns: Int64Array
    """CLOCK_MONOTONIC at the middle of each read, shape (n,)."""
    late_ns: Int64Array
    """How long after its deadline each read began, shape (n,)."""
    values: Mapping[str, npt.NDArray[np.float64] | npt.NDArray[np.int64]]
    """Column name to samples, shape (n,): int64 for states and counters of unit `1` or `B`, float64 for the rest."""
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class Gap:
    """A span in which a stream has no samples, and why."""

    start_ns: int
    end_ns: int
    reason: str
    missed: int
    """How many reads failed or were skipped in the span."""


@dataclass(frozen=True)
class Marker:
    """A named instant on CLOCK_MONOTONIC, the same clock in every process of a board."""

    t_ns: int
    name: str


@dataclass(frozen=True)
class Window:
    """The span [start_ns, end_ns] that a figure is about."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return (self.end_ns - self.start_ns) / 1e9

    def trimmed(self, trim_ns: int) -> Window:
        """The window without `trim_ns` at each end; may be empty or negative, which figures refuse."""
        return Window(self.start_ns + trim_ns, self.end_ns - trim_ns)
