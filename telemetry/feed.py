"""Samples on their way from a recorder to the service: one frame for each handing over, through a pipe.

A frame is its length, four bytes of little endian, and a `Frame` in MessagePack.
"""

from __future__ import annotations

import fcntl
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from telemetry.errors import TelemetryError
from telemetry.model import Gap, Stream

PIPE_BYTES = 1 << 20
"""About a minute of a KV260's samples; the most that Linux gives an ordinary user."""
BACKLOG_BYTES = 4_000_000
"""What may wait in the recorder's memory once the pipe is full."""
FRAME_BYTES_MAX = 1 << 28
NOT_TAKEN = "not taken by the service"
"""Reason of a gap in what the service knows; the session file, if there is one, has these samples."""


class Samples(msgspec.Struct, frozen=True):
    """Samples of one stream in machine byte order: int64 for times and whole columns, float64 for the rest."""

    stream: str
    t_ns: bytes
    late_ns: bytes
    columns: list[bytes]


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was read since the frame before."""

    t_ns: int
    """When it was taken: a read that ended earlier is in this frame or in one before."""
    streams: list[Stream] = []
    """Streams that are new."""
    samples: list[Samples] = []
    gaps: list[tuple[str, Gap]] = []
    missing: dict[str, str] = {}
    """Kind of sensor that could not be opened so far, and why."""
    fault: str | None = None
    """Why raw samples do not reach the session file, if they do not."""


class FeedWriter:
    """The recorder's end. A service that does not read costs it neither time nor more than a fixed memory."""

    def __init__(self, descriptor: int, streams: Iterable[Stream]) -> None:
        self._descriptor = descriptor
        self._new = list(streams)
        self._backlog = bytearray()
        self._lost: dict[str, Gap] = {}
        os.set_blocking(descriptor, False)
        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def add_stream(self, stream: Stream) -> None:
        """Describe a stream that appeared later, ahead of its first samples."""
        self._new.append(stream)

    def send(
        self,
        t_ns: int,
        samples: Mapping[str, tuple[array[int], array[int], Sequence[array[Any]]]],
        gaps: Sequence[tuple[str, Gap]],
        missing: Mapping[str, str],
        fault: str | None,
    ) -> None:
        """Send one frame: times, lateness and columns by stream. What finds no room becomes a gap of a later frame."""
        self._push()
        if len(self._backlog) > BACKLOG_BYTES:
            self._lose(samples, gaps)
            return
        packed = [
            Samples(name, t.tobytes(), late.tobytes(), [column.tobytes() for column in columns])
            for name, (t, late, columns) in samples.items()
        ]
        frame = Frame(t_ns, self._new, packed, [*self._lost.items(), *gaps], dict(missing), fault)
        self._backlog += encode(frame)
        self._new, self._lost = [], {}
        self._push()

    def _push(self) -> None:
        """Give the pipe what it takes; a reader that is gone is the parent's end, which shows elsewhere."""
        with suppress(BlockingIOError, BrokenPipeError):
            while self._backlog:
                del self._backlog[: os.write(self._descriptor, self._backlog)]

    def _lose(
        self,
        samples: Mapping[str, tuple[array[int], array[int], Sequence[array[Any]]]],
        gaps: Sequence[tuple[str, Gap]],
    ) -> None:
        spans = [(name, Gap(t[0], t[-1], NOT_TAKEN, len(t))) for name, (t, _, _) in samples.items()]
        for name, gap in (*spans, *gaps):
            before = self._lost.get(name, gap)
            missed = gap.missed + (before.missed if name in self._lost else 0)
            self._lost[name] = Gap(
                min(before.start_ns, gap.start_ns), max(before.end_ns, gap.end_ns), NOT_TAKEN, missed
            )


class FeedReader:
    """The service's end: bytes as they come to whole frames."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def frames(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes; TelemetryError if it is no feed."""
        self._pending += data
        while len(self._pending) >= 4:
            size = int.from_bytes(self._pending[:4], "little")
            if size > FRAME_BYTES_MAX:
                raise TelemetryError(f"the recorder sent a frame of {size} bytes: not a feed")
            if len(self._pending) < 4 + size:
                return
            packed = bytes(self._pending[4 : 4 + size])
            del self._pending[: 4 + size]
            try:
                frame = msgspec.msgpack.decode(packed, type=Frame)
            except msgspec.MsgspecError as error:
                raise TelemetryError(f"the recorder sent a frame that cannot be read: {error}") from error
            yield frame


def encode(frame: Frame) -> bytes:
    """A frame as it goes through the pipe."""
    packed = msgspec.msgpack.encode(frame)
    return len(packed).to_bytes(4, "little") + packed
