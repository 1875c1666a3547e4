"""The service's own CPU time as a stream like any other, so that who watches can take it off."""

from __future__ import annotations

from array import array

import msgspec

from telemetry.feed import Frame, Samples
from telemetry.model import Stream
from telemetry.readers.self_cost import SelfCostReader

PERIOD_NS = 1_000_000_000


class OwnCost:
    """Adds a sample to a frame once a second."""

    def __init__(self) -> None:
        self._reader = SelfCostReader()
        attributes = {"covers": "the process of kv260-telemetry that serves"}
        self._stream = Stream("observer.service", "self-cost", PERIOD_NS, self._reader.columns, attributes)
        self._due_ns = 0

    def forget(self) -> None:
        """The streams were retired: describe this one anew."""
        self._due_ns = 0

    def add_to(self, frame: Frame) -> Frame:
        """The frame with a sample of our own, if one is due."""
        if frame.t_ns < self._due_ns:
            return frame
        streams = frame.streams if self._due_ns else [*frame.streams, self._stream]
        late_ns = frame.t_ns - self._due_ns if self._due_ns else 0
        self._due_ns = frame.t_ns + PERIOD_NS
        times = (array("q", [frame.t_ns]).tobytes(), array("q", [late_ns]).tobytes())
        sample = Samples(self._stream.name, *times, [array("d", self._reader.read()).tobytes()])
        return msgspec.structs.replace(frame, streams=streams, samples=[*frame.samples, sample])
