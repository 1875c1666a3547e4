"""Where live samples come from: the service that owns the board's sensors, else a recorder of our own."""

from __future__ import annotations

import queue
import select
import threading
from array import array
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from kv260_runtime.boards import BoardSession
from telemetry.boards import BoardProfile
from telemetry.client import Connection, socket_path
from telemetry.clock import Clock
from telemetry.errors import SensorNotFound, TelemetryError
from telemetry.feed import Samples
from telemetry.model import Column, Gap, Stream
from telemetry.protocol import RecorderPlan
from telemetry.service.history import History, series_of
from telemetry.service.ledger import Ledger
from telemetry.service.source import Source
from telemetry.session.packing import typecode

KEPT_NS = 120_000_000_000
"""As long as the longest trend."""


class LiveSamples(Protocol):
    """The latest samples of all streams."""

    @property
    def manner(self) -> str:
        """Where they come from, in words."""
        ...

    @property
    def histories(self) -> Mapping[str, History]:
        """What was sampled lately, by stream."""
        ...

    @property
    def missing(self) -> Mapping[str, str]:
        """Kind of sensor that is not there, and why."""
        ...

    def take(self, until_ns: int) -> None:
        """Take on what comes until an instant. Raises TelemetryError if nothing will come any more."""
        ...

    def close(self) -> None:
        """End it; idempotent."""
        ...


def open_samples(board: BoardSession, profile: BoardProfile, clock: Clock) -> LiveSamples:
    """Samples of a board: a service that runs there is asked, as nobody else may have the memory monitor meanwhile."""
    path = socket_path(board.root)
    if path.exists():
        with suppress(SensorNotFound):
            return ServiceSamples(path, clock)
    return RecorderSamples(board, profile, clock)


class RecorderSamples:
    """A recorder of our own, without a session file."""

    def __init__(self, board: BoardSession, profile: BoardProfile, clock: Clock) -> None:
        self._clock = clock
        self._ledger = Ledger(KEPT_NS)
        self._source: Source | None = Source(RecorderPlan(str(board.root), profile, None, board.files))
        self.manner = "own recorder"
        self.missing: Mapping[str, str] = self._source.ready.missing

    @property
    def histories(self) -> Mapping[str, History]:
        """What was sampled lately, by stream."""
        return self._ledger.histories

    def take(self, until_ns: int) -> None:
        """Take on frames until an instant."""
        while self._source is not None and (left_ns := until_ns - self._clock.now_ns()) > 0:
            if select.select([self._source], [], [], left_ns / 1e9)[0]:
                for frame in self._source.frames():
                    self._ledger.take(frame)
                    self.missing = frame.missing

    def close(self) -> None:
        """End the recorder."""
        if self._source is not None:
            self._source.stop()
            self._source = None


class ServiceSamples:
    """What a running kv260-telemetry tells its subscribers."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._connection = Connection(path)
        try:
            status = self._connection.ask("status")
            streams = self._connection.ask("subscribe", "*")["streams"]
        except BaseException:
            self._connection.close()
            raise
        self.manner = f"kv260-telemetry, process {status['pid']}"
        self.missing: Mapping[str, str] = dict(status["missing"])
        self.histories: dict[str, History] = {}
        for told in streams:
            self._describe(told)
        self._messages: queue.SimpleQueue[Mapping[str, Any] | TelemetryError] = queue.SimpleQueue()
        self._connection.wait_without_limit()
        threading.Thread(target=self._receive, name="top", daemon=True).start()

    def take(self, until_ns: int) -> None:
        """Take on what the service tells until an instant."""
        while (left_ns := until_ns - self._clock.now_ns()) > 0:
            try:
                message = self._messages.get(timeout=left_ns / 1e9)
            except queue.Empty:
                return
            if isinstance(message, TelemetryError):
                raise message
            if "samples" in message:
                self._add(message)
            elif "stream" in message:
                self._describe(message["stream"])

    def close(self) -> None:
        """Leave the service."""
        self._connection.close()

    def _receive(self) -> None:
        try:
            while True:
                self._messages.put(self._connection.receive())
        except TelemetryError as error:
            self._messages.put(error)

    def _describe(self, told: Mapping[str, Any]) -> None:
        columns = tuple(Column(**column) for column in told["columns"])
        stream = Stream(told["name"], told["kind"], told["period_ns"], columns, told["attributes"])
        self.histories[stream.name] = History(stream, KEPT_NS)

    def _add(self, message: Mapping[str, Any]) -> None:
        history = self.histories[message["samples"]]
        columns = zip(history.stream.columns, message["columns"], strict=True)
        packed = Samples(
            history.stream.name,
            array("q", message["t_ns"]).tobytes(),
            array("q", message["late_ns"]).tobytes(),
            [array(typecode(column), values).tobytes() for column, values in columns],
        )
        history.add(series_of(history.stream, packed, [Gap(*gap) for gap in message["gaps"]]))
