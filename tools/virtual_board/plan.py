"""An execution as the board plays it: segments one after another, each on a core of the CPU or on the compute unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from virtual_board.errors import VirtualBoardError

Kind = Literal["host", "cpu", "dpu"]
"""`host`: what the runtime does around the graph; `cpu`: a CPU subgraph; `dpu`: one command of the compute unit."""

COLUMN = re.compile(r"(read|write)\.slot[0-5]")

KINDS = ("host", "cpu", "dpu")


@dataclass(frozen=True)
class Segment:
    """One stretch of an execution."""

    kind: Kind
    duration_ns: int
    moved_bytes: Mapping[str, int] = field(default_factory=dict)
    """Bytes over the memory ports, by column name: `read.slot3`, `write.slot4`."""
    watts: float | None = None
    """Power above idle while a `dpu` segment runs; None for the board's constant."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, without what is default."""
        plain: dict[str, Any] = {"kind": self.kind, "duration_ns": self.duration_ns}
        if self.moved_bytes:
            plain["moved_bytes"] = dict(self.moved_bytes)
        if self.watts is not None:
            plain["watts"] = self.watts
        return plain


@dataclass(frozen=True)
class Plan:
    """One execution of a model by one boundary (xdputil, GraphRunner, VART)."""

    model: str
    boundary: str
    segments: tuple[Segment, ...]
    jitters: bool = True
    """Whether `host` segments vary from run to run and from execution to execution."""

    @property
    def lead_ns(self) -> int:
        """Time on the host before the first command of the compute unit."""
        lead_ns = 0
        for segment in self.segments:
            if segment.kind == "dpu":
                break
            lead_ns += segment.duration_ns
        return lead_ns

    @property
    def duration_ns(self) -> int:
        """One execution that never waits."""
        return sum(segment.duration_ns for segment in self.segments)

    def to_json(self) -> dict[str, Any]:
        """Plain values for a message or the event log."""
        segments = [segment.to_json() for segment in self.segments]
        return {"model": self.model, "boundary": self.boundary, "jitters": self.jitters, "segments": segments}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Plan:
        """Inverse of `to_json`; VirtualBoardError names what is wrong."""
        segments = tuple(segment_from_json(entry, plain["model"]) for entry in plain["segments"])
        return cls(plain["model"], plain["boundary"], segments, plain["jitters"])


def segment_from_json(entry: Mapping[str, Any], place: str) -> Segment:
    """One segment of a message or of a timing file; VirtualBoardError, led by `place`, if it is none."""
    unknown = set(entry) - {"kind", "duration_ns", "moved_bytes", "watts"}
    if unknown:
        raise VirtualBoardError(f"{place}: a segment has no {sorted(unknown)[0]!r}")
    kind, duration_ns = entry.get("kind"), entry.get("duration_ns")
    if kind not in KINDS:
        raise VirtualBoardError(f"{place}: segment kind {kind!r} is none of {', '.join(KINDS)}")
    if not isinstance(duration_ns, int) or duration_ns < 0:
        raise VirtualBoardError(f"{place}: duration_ns {duration_ns!r} is no whole number of nanoseconds")
    moved_bytes, watts = entry.get("moved_bytes", {}), entry.get("watts")
    if not isinstance(moved_bytes, dict):
        raise VirtualBoardError(f"{place}: moved_bytes is no object of columns and bytes")
    for column, size_bytes in moved_bytes.items():
        if not COLUMN.fullmatch(column):
            raise VirtualBoardError(f"{place}: moved_bytes: {column!r} is no column such as read.slot3 or write.slot4")
        if not isinstance(size_bytes, int) or size_bytes < 0:
            raise VirtualBoardError(f"{place}: moved_bytes: {column} {size_bytes!r} is no whole number of bytes")
    if watts is not None and (not isinstance(watts, (int, float)) or watts < 0):
        raise VirtualBoardError(f"{place}: watts {watts!r} is no power above idle")
    return Segment(kind, duration_ns, moved_bytes, watts)
