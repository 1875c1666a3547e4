"""What a Recording and its recorder process tell each other in JSON lines: a plan, then requests and replies."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from telemetry.boards import BoardProfile

FLUSH = '"flush"'
STOP = '"stop"'


@dataclass
class RecorderPlan:
    """What a recorder is to sample, and where to."""

    root: str
    """The folder under which the board's /sys, /proc and /dev lie."""
    board: BoardProfile
    session: str | None
    """An existing session file, or None to keep no raw samples."""
    files: str | None = None
    """`module:callable` giving file access, or None for the system's own."""
    realtime: bool = True
    cpu: int | None = None
    """Pin the process to this CPU."""
    ring_bytes: int | None = None
    """Delete the oldest samples so that the session stays below this size."""
    feed: int | None = None
    """Descriptor of a pipe that is given all samples too (telemetry.feed)."""


class RecorderReady(msgspec.Struct, frozen=True):
    """What a recorder found when it started."""

    streams: list[str]
    missing: dict[str, str]
    """Kind of sensor to why it could not be opened; it is tried again now and then."""
    realtime: str
    """The scheduling policy obtained, or why not the one asked for."""
    pid: int
    cpu: str = ""


class StreamSummary(msgspec.Struct, frozen=True):
    """One stream over a whole recording."""

    samples: int
    missed: int
    """Slots without a sample."""
    late: int
    """Samples read more than 1 ms after their deadline."""


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line from the recorder: `ready`, `flushed` or `stopped`, with or instead of which it may say what failed."""

    ready: RecorderReady | None = None
    flushed: int | None = None
    stopped: dict[str, StreamSummary] | None = None
    failed: str | None = None
    """One line on what went wrong."""
    error: str = "TelemetryError"
    """Name of the class in telemetry.errors that fits it."""
