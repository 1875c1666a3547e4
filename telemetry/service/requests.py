"""The lines that clients send over the socket, parsed; docs/daemon.md describes the protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from telemetry.client import mark_name
from telemetry.errors import ConfigError

PROTOCOL = 1
"""In the greeting; a client that knows another number must not go on."""
LINE_BYTES_MAX = 4096

Quantity = Literal["joules", "bytes", "busy"]
QUANTITIES: tuple[Quantity, ...] = ("joules", "bytes", "busy")


@dataclass(frozen=True)
class Status:
    """`status`."""


@dataclass(frozen=True)
class Flush:
    """`flush`."""

    t_ns: int = 0
    """When it came."""


@dataclass(frozen=True)
class Mark:
    """`mark NAME [T_NS]`."""

    name: str
    t_ns: int | None


@dataclass(frozen=True)
class Subscribe:
    """`subscribe NAME...`; `*` is all, also those that appear later."""

    streams: tuple[str, ...]


@dataclass(frozen=True)
class Between:
    """`joules START_NS END_NS [RAIL]`, `bytes START_NS END_NS`, `busy START_NS END_NS [ACCELERATOR]`."""

    quantity: Quantity
    start_ns: int
    end_ns: int
    whose: str | None


Request = Status | Flush | Mark | Subscribe | Between

USAGE = {
    "status": "status",
    "flush": "flush",
    "mark": "mark NAME [T_NS]",
    "subscribe": "subscribe NAME... or subscribe *",
    "joules": "joules START_NS END_NS [RAIL]",
    "bytes": "bytes START_NS END_NS",
    "busy": "busy START_NS END_NS [ACCELERATOR]",
}


def parse_request(line: str) -> Request:
    """One line without its end; ConfigError says what would have been right."""
    word, *rest = line.split() or [""]
    if word not in USAGE:
        raise ConfigError(f"unknown request {word[:20]!r}; known: {', '.join(USAGE)}")
    if word == "status" and not rest:
        return Status()
    if word == "flush" and not rest:
        return Flush()
    if word == "mark" and 1 <= len(rest) <= 2:
        return Mark(mark_name(rest[0]), _instant(rest[1]) if len(rest) == 2 else None)
    if word == "subscribe" and rest:
        return Subscribe(tuple(rest))
    for quantity in QUANTITIES:
        if word == quantity and 2 <= len(rest) <= (2 if quantity == "bytes" else 3):
            start_ns, end_ns = _instant(rest[0]), _instant(rest[1])
            if end_ns <= start_ns:
                raise ConfigError(f"{word}: the end {end_ns} is not after the start {start_ns}")
            return Between(quantity, start_ns, end_ns, rest[2] if len(rest) == 3 else None)
    raise ConfigError(f"expected: {USAGE[word]}")


def _instant(text: str) -> int:
    """CLOCK_MONOTONIC in nanoseconds; eighteen digits are thirty years."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ConfigError(f"{text[:40]!r} is no time: expected nanoseconds of CLOCK_MONOTONIC")
    return int(text)
