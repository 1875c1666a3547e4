"""What the service knows at one instant: frozen values that any thread may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from telemetry.model import Stream

LATE_BOUNDS_SECONDS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0)
"""Upper bounds of the histogram of lateness."""


@dataclass(frozen=True)
class StreamTotals:
    """One stream at one instant, never changed afterwards."""

    stream: Stream
    samples: int
    last_ns: int | None
    """When the latest sample was read; None before the first."""
    counters: Mapping[str, float]
    """As telemetry.service.increments names them, since the service began."""
    levels: Mapping[str, float]
    """The latest value of each gauge."""
    gaps: Mapping[str, int]
    """Slots without a sample by reason."""
    uncovered_seconds: float
    late_counts: tuple[int, ...]
    """Samples by lateness: one more than bounds, not cumulative."""
    late_seconds: float
    """Sum of all lateness."""
    effective_hertz: float | None
    up: bool


@dataclass(frozen=True)
class Snapshot:
    """Everything at one instant, never changed afterwards."""

    t_ns: int
    """When the latest frame was taken; 0 before the first."""
    streams: tuple[StreamTotals, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Kind of sensor that could not be opened so far, and why."""
    fault: str | None = None
    """Why raw samples do not reach their file."""


@dataclass(frozen=True)
class ServiceState:
    """A snapshot and what stands beside it."""

    snapshot: Snapshot
    wall_offset_ns: int = 0
    """CLOCK_REALTIME minus CLOCK_MONOTONIC when it was made, for labels."""
    board: str = ""
    emulated: bool = False
    marks: int = 0
    """Marks that clients have set."""
    clients: int = 0
    """Connections to the socket."""
    ready: bool = False
    """Samples have come since the recorder was started."""
    stuck: str | None = None
    """Why the service is not healthy."""
