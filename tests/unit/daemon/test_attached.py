"""A recording by a service that is a few lines here: what reaches the session, and what is said when it cannot."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from telemetry.attached import UNWRITTEN, AttachedRecording
from telemetry.boards import BoardProfile, StreamPlan
from telemetry.client import Connection
from telemetry.errors import ConfigError, SensorNotFound, SessionError, TelemetryError
from telemetry.protocol import RecorderPlan
from telemetry.service.desk import described, news
from telemetry.session import SessionLog, SessionReader
from tests.unit.daemon.frames import APM, MS, POWER, series

BOARD = BoardProfile(name="small", title="Small", streams=(StreamPlan("proc-stat", 100),))


class Service:
    """Answers what an attached recording asks, and sends what a test says."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self.status: dict[str, Any] = {
            "ok": True, "board": "small", "files": None, "root": str(path.parent), "missing": {"apm": "none"},
            "realtime": "SCHED_OTHER", "pid": 7,
        }  # fmt: skip
        self.before_flush: list[dict[str, Any]] = []
        """Lines sent ahead of the answer to each flush."""

    def _serve(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        with suppress(OSError), connection, connection.makefile("rwb") as lines:
            self._send(lines, {"kvbench": 1})
            for line in lines:
                word = line.split()[0]
                if word == b"status":
                    self._send(lines, self.status)
                elif word == b"subscribe":
                    self._send(lines, {"ok": True, "streams": [described(POWER)]})
                elif word == b"flush":
                    for told in self.before_flush:
                        self._send(lines, told)
                    self._send(lines, {"ok": True, "t_ns": 1})

    @staticmethod
    def _send(lines: Any, message: dict[str, Any]) -> None:
        lines.write(json.dumps(message).encode() + b"\n")
        lines.flush()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with closing(Service(tmp_path / "s")) as started:
        yield started


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SessionLog]:
    with closing(SessionLog.create(tmp_path / "a.kvs")) as created:
        yield created


def attach(tmp_path: Path, log: SessionLog, name: str = "small", root: Path | None = None) -> AttachedRecording:
    board = BoardProfile(name=name, title="Small", streams=BOARD.streams)
    return AttachedRecording(RecorderPlan(str(root or tmp_path), board, str(log.path)), tmp_path / "s")


def test_samples_gaps_marks_and_new_streams_reach_the_session(
    service: Service, log: SessionLog, tmp_path: Path
) -> None:
    recording = attach(tmp_path, log)
    assert recording.ready.streams == ["power.som"]
    assert recording.ready.missing == {"apm": "none"}
    service.before_flush = [
        news(series(POWER, [10 * MS, 20 * MS], [5.0, 5.25])),
        news(series(POWER, [30 * MS], [5.5])),
        {**news(series(POWER, [], [])), "gaps": [[30 * MS, 50 * MS, "vanished", 2]]},
        {"mark": "load.begin", "t_ns": 15 * MS, "pid": 1},
        {"stream": described(APM)},
        news(series(APM, [100 * MS], 2**32 - 1, 7, 5)),
        {"stream": described(POWER)},
    ]
    recording.flush()
    with SessionReader(log.path) as reader:
        power = reader.series("power.som")
        assert power.t_ns.tolist() == [10 * MS, 20 * MS, 30 * MS]
        assert power.values["watts"].tolist() == [5.0, 5.25, 5.5]
        assert [(gap.reason, gap.missed) for gap in power.gaps] == [("vanished", 2)]
        assert reader.series("apm").values["read.slot3"].tolist() == [2**32 - 1]
        assert [(mark.name, mark.t_ns) for mark in reader.markers()] == [("load.begin", 15 * MS)]
    service.before_flush = []
    recording.stop()
    assert recording.summary["power.som"].samples == 3
    assert recording.summary["power.som"].missed == 2


def test_samples_that_cannot_be_written_are_told_and_confessed(
    service: Service, log: SessionLog, tmp_path: Path
) -> None:
    recording = attach(tmp_path, log)
    service.before_flush = [news(series(POWER, [10 * MS], [5.0]))]
    full = recording._writer.transaction
    recording._writer.transaction = refusing  # type: ignore[method-assign,assignment]
    for _ in range(2):
        with pytest.raises(SessionError, match="disk full"):
            recording.flush()
    recording._writer.transaction = full  # type: ignore[method-assign]
    service.before_flush = [news(series(POWER, [90 * MS], [5.0]))]
    recording.flush()
    with SessionReader(log.path) as reader:
        power = reader.series("power.som")
    assert power.t_ns.tolist() == [90 * MS]
    assert [(gap.start_ns, gap.end_ns, gap.reason, gap.missed) for gap in power.gaps] == [
        (10 * MS, 10 * MS, UNWRITTEN, 2)
    ]
    service.before_flush = []
    recording.stop()


def refusing() -> None:
    raise SessionError("disk full")


def test_columns_that_change_end_the_recording(service: Service, log: SessionLog, tmp_path: Path) -> None:
    recording = attach(tmp_path, log)
    service.before_flush = [{"stream": {**described(POWER), "columns": described(APM)["columns"]}}]
    with pytest.raises(TelemetryError, match="other columns now"):
        recording.flush()
    assert "other columns now" in str(recording.poll())
    recording.stop()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"board": "kv260"}, "records kv260, not small"),
        ({"files": "a:b"}, "through a:b"),
        ({"root": "/"}, "records the board at /"),
    ],
)
def test_a_service_of_something_else_is_not_attached_to(
    service: Service, log: SessionLog, tmp_path: Path, change: dict[str, str], told: str
) -> None:
    service.status |= change
    with pytest.raises(SensorNotFound, match=told):
        attach(tmp_path, log)


def test_a_marks_name_is_checked_before_it_is_sent(service: Service, tmp_path: Path) -> None:
    with Connection(tmp_path / "s") as connection:
        for name in ("two words", "line\nstatus", ""):
            with pytest.raises(ConfigError, match="has no space"):
                connection.mark(name)
