"""A profile beside a running service attaches to it, and measures what it would have measured alone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kv260_runtime.boards import HardwareBoard
from kv260_runtime.cli import board as board_options
from kv260_runtime.cli.main import main
from telemetry.attached import OWN, AttachedRecording, record
from telemetry.boards import BoardProfile, load_board
from telemetry.client import Connection, measure, socket_path
from telemetry.clock import SystemClock
from telemetry.errors import TelemetryError
from telemetry.recording import RecorderPlan, Recording
from telemetry.session import SessionLog, SessionReader
from tests.integration.daemon_harness import Daemon, running
from virtual_board.launch import VirtualBoard, open_board
from virtual_board.models import write_demo_models
from virtual_board.truth import true_figures

KV260 = load_board("kv260")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualBoard]:
    log = tmp_path_factory.mktemp("board") / "events.jsonl"
    with open_board({"seed": "4", "log": str(log)}) as opened:
        yield opened


@pytest.fixture(scope="module")
def daemon(board: VirtualBoard) -> Iterator[Daemon]:
    with running(board.root) as started:
        yield started


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SessionLog]:
    with closing(SessionLog.create(tmp_path / "a.kvs")) as created:
        yield created


def plan(board: VirtualBoard, log: SessionLog, profile: BoardProfile = KV260, files: str | None = None) -> RecorderPlan:
    return RecorderPlan(str(board.root), profile, str(log.path), files=files)


def test_a_recording_of_the_service_is_a_recording(daemon: Daemon, board: VirtualBoard, log: SessionLog) -> None:
    recording, manner = record(plan(board, log))
    assert isinstance(recording, AttachedRecording)
    assert manner == f"attached to kv260-telemetry, process {daemon.process.pid}"
    assert recording.ready.missing == {}
    begin_ns = SystemClock.now_ns()
    with daemon.connect() as connection:
        marked_ns = connection.mark("from.elsewhere")
        SystemClock.sleep_until_ns(begin_ns + 300_000_000)
        asked_ns = SystemClock.now_ns()
        recording.flush()
        with SessionReader(log.path) as reader:
            seen = reader.series("cu", begin_ns)
        assert asked_ns - seen.t_ns[-1] < 100_000_000
    recording.stop()
    recording.stop()
    assert recording.poll() is None
    log.close()

    assert [path.name for path in log.path.parent.iterdir() if path.is_file()] == ["a.kvs"]
    with SessionReader(log.path) as reader:
        streams = {stream.name: stream for stream in reader.streams()}
        assert {"cu", "power.som", "apm", "cpu", "observer", "observer.service"} <= set(streams)
        assert streams["power.som"].attributes["averaging_ns"] == "8800000"
        series = reader.series("cu")
        assert np.all(np.diff(series.t_ns) > 0)
        assert recording.summary["cu"].samples == series.t_ns.size
        assert recording.summary["cu"].missed == sum(gap.missed for gap in series.gaps)
        slots = (series.t_ns[-1] - series.t_ns[0]) / 1e6
        assert series.t_ns.size + sum(gap.missed for gap in series.gaps) == pytest.approx(slots, abs=3)
        assert [(mark.name, mark.t_ns) for mark in reader.markers()] == [("from.elsewhere", marked_ns)]


def test_another_board_or_other_files_are_not_what_the_service_records(
    daemon: Daemon, board: VirtualBoard, log: SessionLog, tmp_path: Path
) -> None:
    own = BoardProfile(name="mine", title="Mine", streams=(KV260.streams[3],))
    recording, manner = record(plan(board, log, own))
    assert isinstance(recording, Recording)
    assert manner == f"{OWN}: the running kv260-telemetry records kv260, not mine"
    recording.stop()
    other = SessionLog.create(tmp_path / "b.kvs")
    recording, manner = record(plan(board, other, own, files="virtual_board.faulty_files:open_files"))
    assert isinstance(recording, Recording)
    recording.stop()
    other.close()


def test_a_socket_that_nobody_answers_is_no_service(board: VirtualBoard, tmp_path: Path, log: SessionLog) -> None:
    root = tmp_path / "root"
    socket_path(root).parent.mkdir(parents=True)
    socket_path(root).touch()
    (root / "proc").symlink_to(board.root / "proc")
    own = BoardProfile(name="mine", title="Mine", streams=(KV260.streams[3],))
    recording, manner = record(RecorderPlan(str(root), own, str(log.path)))
    assert isinstance(recording, Recording)
    assert manner.startswith(f"{OWN}: no kv260-telemetry listens")
    recording.stop()


def test_the_end_of_the_service_is_told_like_that_of_a_recorder(
    board: VirtualBoard, tmp_path: Path, log: SessionLog
) -> None:
    with open_board({"seed": "5"}) as other, running(other.root) as daemon:
        recording, _ = record(plan(other, log))
        assert recording.poll() is None
        os.kill(daemon.process.pid, signal.SIGKILL)
        daemon.process.wait()
        with pytest.raises(TelemetryError):
            while True:
                recording.flush()
        said = recording.poll()
        assert said is not None and "closed the connection" in said
        recording.stop()


def test_a_profile_attaches_and_its_figures_are_true(
    daemon: Daemon,
    board: VirtualBoard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = HardwareBoard("kv260", "virtual KV260", board.root, board.environment, emulated=True)
    monkeypatch.setattr(board_options, "open_board", lambda *_: (session, KV260))
    _, consolidated = write_demo_models(tmp_path)
    words = ["--runs", "1", "--smoke", "0", "--duration", "8", "--trim", "0.5", "--idle", "1", "--json"]
    before = daemon.metrics()['kv_accelerator_busy_seconds_total{accelerator="DPUCZDX8G_1"}']
    with measure("whole", path=daemon.socket) as whole:
        code = main(["profile", str(consolidated), *words, "--out", str(tmp_path / "s.kvs")])
    result = json.loads(capsys.readouterr().out)
    assert code == 0
    assert result["recorder"]["attached"] is True
    assert result["recorder"]["manner"] == f"attached to kv260-telemetry, process {daemon.process.pid}"
    assert result["missing_sensors"] == {}
    figures = result["models"][0]["figures"]
    [run] = result["models"][0]["runs"]
    assert set(run["figures"]) >= {f"observer_seconds.{who}" for who in ("recorder", "service", "kvbench")}

    assert whole.why.get("joules") is None
    after = daemon.metrics()['kv_accelerator_busy_seconds_total{accelerator="DPUCZDX8G_1"}']
    assert after - before > 6
    with SessionReader(tmp_path / "s.kvs") as reader:
        ends_ns = reader.executions(1)[1]
    trim_ns = 500_000_000
    truth = true_figures(Path(board.provenance["event_log"]), int(ends_ns[0]) + trim_ns, int(ends_ns[-1]) - trim_ns)
    assert figures["energy_per_execution.som"]["mean"] == pytest.approx(truth["joules_per_execution"], rel=0.005)
    assert figures["busy_share.DPUCZDX8G_1"]["mean"] == pytest.approx(truth["busy_share"], abs=0.004)
    assert figures["throughput"]["mean"] == pytest.approx(truth["executions_per_second"], rel=0.002)


def test_a_connection_that_speaks_another_protocol_is_refused(tmp_path: Path) -> None:
    import socket
    import threading

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()

        def greet() -> None:
            accepted, _ = listener.accept()
            with accepted:
                accepted.sendall(b'{"kvbench":2}\n')

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(TelemetryError, match="not protocol 1"):
            Connection(tmp_path / "s")
        thread.join()
