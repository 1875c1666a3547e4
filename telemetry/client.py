"""Talks to a running kv260-telemetry: marks, and the joules and bytes of a span of one's own program.

    with measure("detect") as measured:
        ...
    print(measured.joules, measured.why)

Needs nothing but the standard library; docs/daemon.md describes the protocol.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from telemetry.clock import SystemClock
from telemetry.errors import ConfigError, NotCovered, SensorNotFound, TelemetryError

PROTOCOL = 1
SOCKET = "run/kvbench/telemetry.sock"
ENVIRONMENT = "KVBENCH_TELEMETRY"
"""Environment variable with the path of the socket, for a service that listens elsewhere."""
ANSWER_SECONDS = 10.0
NAME_LENGTH_MAX = 120
"""Of a mark, in characters."""


def socket_path(root: Path = Path("/")) -> Path:
    """Where the service of a board listens unless it was told otherwise."""
    return root / SOCKET


def default_socket() -> Path:
    """Where the service of this machine listens, or of the board that the environment names."""
    return Path(os.environ.get(ENVIRONMENT) or socket_path())


def mark_name(text: str) -> str:
    """The text if it can name a mark, otherwise ConfigError."""
    if not 1 <= len(text) <= NAME_LENGTH_MAX or not text.isprintable() or " " in text:
        raise ConfigError(
            f"a mark's name has no space and at least 1, at most {NAME_LENGTH_MAX} printable characters: {text[:40]!r}"
        )
    return text


class Connection:
    """A conversation with the service."""

    def __init__(self, path: Path | None = None, seconds: float = ANSWER_SECONDS) -> None:
        """Connect.

        Raises SensorNotFound if no service listens there or this user may not connect, TelemetryError if it speaks
        another protocol.
        """
        self.path = path or default_socket()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(seconds)
        try:
            self._socket.connect(str(self.path))
        except PermissionError as error:
            self._socket.close()
            raise SensorNotFound(f"{self.path}: not permitted; join the group that owns the socket (kvd)") from error
        except OSError as error:
            self._socket.close()
            raise SensorNotFound(f"no kv260-telemetry listens at {self.path}: {error.strerror or error}") from error
        self._lines = self._socket.makefile("rb")
        try:
            self.greeting = self.receive()
        except TelemetryError:
            self.close()
            raise
        if self.greeting.get("kvbench") != PROTOCOL:
            self.close()
            raise TelemetryError(f"{self.path}: speaks {str(self.greeting)[:80]}, not protocol {PROTOCOL}")

    def send(self, *words: object) -> None:
        """Send a request without waiting for its answer; answers come in the order of requests."""
        try:
            self._socket.sendall(" ".join(map(str, words)).encode() + b"\n")
        except OSError as error:
            raise TelemetryError(f"{self.path}: the service is gone: {error.strerror or error}") from error

    def receive(self) -> dict[str, Any]:
        """The next line; TelemetryError if none comes."""
        try:
            line = self._lines.readline()
        except OSError as error:
            raise TelemetryError(f"{self.path}: no answer: {error}") from error
        if not line.endswith(b"\n"):
            raise TelemetryError(f"{self.path}: the service closed the connection")
        try:
            message: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise TelemetryError(f"{self.path}: not a line of the protocol: {line[:80]!r}") from error
        return message

    def reply(self) -> dict[str, Any]:
        """The next answer; NotCovered or TelemetryError with the reason if it is a refusal."""
        message = self.receive()
        if message.get("ok") is True:
            return message
        reason = str(message.get("reason", message))
        raise NotCovered(reason) if message.get("error") == "not-covered" else TelemetryError(f"{self.path}: {reason}")

    def ask(self, *words: object) -> dict[str, Any]:
        """A request and its answer."""
        self.send(*words)
        return self.reply()

    def mark(self, name: str, t_ns: int | None = None) -> int:
        """Set a mark now, or at an instant of CLOCK_MONOTONIC; the instant."""
        return int(self.ask("mark", mark_name(name), *([] if t_ns is None else [t_ns]))["t_ns"])

    def wait_without_limit(self) -> None:
        """From now on `receive` waits as long as it takes, as a subscriber does."""
        self._socket.settimeout(None)

    def close(self) -> None:
        """End the conversation, also for a thread that waits in `receive`; idempotent."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Measurement:
    """What a span of a program took; complete when its `with` block has ended."""

    name: str
    start_ns: int
    end_ns: int = 0
    joules: float | None = None
    """Energy of the rail; None if the samples do not cover the span, then `why["joules"]` says more."""
    uncertainty_joules: float | None = None
    """Half-width of the interval that holds the true energy with 95 % confidence, by what the sensor is worth."""
    bytes: float | None = None
    """Bytes moved to and from memory by everything on the board."""
    busy_share: float | None = None
    """Share of the span in which the accelerator was busy, 0 to 1."""
    why: dict[str, str] = field(default_factory=dict)
    """What is None, and why."""
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Each answer as it came: coverage, samples, notes, ports."""

    @property
    def seconds(self) -> float:
        """Length of the span."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def watts(self) -> float | None:
        """Mean power."""
        return None if self.joules is None else self.joules / self.seconds


QUANTITIES = {"joules": "joules", "bytes": "bytes", "busy": "busy_share"}
"""Request to the field that it fills."""


@contextmanager
def measure(
    name: str, *, path: Path | None = None, rail: str | None = None, strict: bool = False
) -> Iterator[Measurement]:
    """Measure the block: nothing but two looks at the clock happens around it, everything else before and after.

    Sets the marks NAME.begin and NAME.end. With `strict`, what cannot be told raises (SensorNotFound without a service,
    NotCovered for a span too short or full of gaps); without, it is None and the program goes on.
    """
    connection, refused = None, ""
    try:
        connection = Connection(path)
    except TelemetryError as error:
        if strict:
            raise
        refused = str(error)
    measured, ended = Measurement(name, SystemClock.now_ns()), False
    try:
        yield measured
        ended = True
    finally:
        measured.end_ns = SystemClock.now_ns()
        if connection is None:
            measured.why = dict.fromkeys(QUANTITIES.values(), refused)
        else:
            with connection:
                # What the block raised itself matters more than what was not measured.
                _complete(connection, measured, rail, strict and ended)


def _complete(connection: Connection, measured: Measurement, rail: str | None, strict: bool) -> None:
    """Ask for everything at once, then take the answers."""
    span = (measured.start_ns, measured.end_ns)
    try:
        for edge, t_ns in zip(("begin", "end"), span, strict=True):
            connection.send("mark", f"{measured.name}.{edge}", t_ns)
        for request in QUANTITIES:
            connection.send(request, *span, *([rail] if request == "joules" and rail else []))
        for _ in range(2):
            connection.reply()
    except TelemetryError as error:
        if strict:
            raise
        measured.why = dict.fromkeys(QUANTITIES.values(), str(error))
        return
    for request, filled in QUANTITIES.items():
        try:
            answer = connection.reply()
        except TelemetryError as error:
            if strict and request == "joules":
                raise
            measured.why[filled] = str(error)
            continue
        measured.answers[request] = answer
        setattr(measured, filled, answer[filled])
        if request == "joules":
            measured.uncertainty_joules = answer["uncertainty_joules"]
