"""A real recorder process on a small tree: what its parent asks of it, and what happens when one of them ends."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from telemetry.boards import BoardProfile, StreamPlan
from telemetry.clock import SystemClock
from telemetry.errors import RecorderEnded, SensorNotFound, SessionError, TelemetryError
from telemetry.protocol import FLUSH
from telemetry.recording import ANSWER_SECONDS, RecorderPlan, Recording
from telemetry.session import SessionLog, SessionReader
from telemetry.session.schema import log_bytes

IDLE = "0,0,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,0x4,0\n"
CU = StreamPlan("xrt-cu", 1, jitter=True, group="fast")
CPU = StreamPlan("proc-stat", 100)
APM = StreamPlan("apm", 100, options={"address": "0xfd0b0000"})


def profile(*streams: StreamPlan) -> BoardProfile:
    return BoardProfile(name="small", title="A small board", streams=streams)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    device = tmp_path / "root/sys/class/drm/renderD128/device"
    device.mkdir(parents=True)
    (device / "kds_custat_raw").write_text(IDLE)
    (tmp_path / "root/proc").mkdir()
    (tmp_path / "root/proc/stat").write_text("cpu  1 0 1 9 0 0 0 0 0 0\ncpu0 1 0 1 9 0 0 0 0 0 0\n")
    return tmp_path / "root"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SessionLog]:
    log = SessionLog.create(tmp_path / "a.kvs")
    yield log
    log.close()


def start(root: Path, log: SessionLog | None, *streams: StreamPlan) -> Recording:
    return Recording.start(RecorderPlan(str(root), profile(*streams), str(log.path) if log else None))


def samples(log: SessionLog, stream: str, since_ns: int = 0) -> int:
    with SessionReader(log.path) as reader:
        return len(reader.series(stream, since_ns).t_ns)


def record(recording: Recording, log: SessionLog, stream: str, count: int) -> None:
    """Until that many samples are in the file; the suite's timeout ends a recorder that never gets there."""
    while samples(log, stream) < count:
        recording.flush()


def test_a_flush_makes_samples_readable_and_a_stop_closes_the_file(root: Path, log: SessionLog) -> None:
    recording = start(root, log, CU, CPU)
    record(recording, log, "cu", 200)
    record(recording, log, "cpu", 2)
    asked_ns = SystemClock.now_ns()
    recording.flush()
    with SessionReader(log.path) as reader:
        before_stop = reader.series("cu")
    recording.stop()
    recording.stop()
    log.close()
    with SessionReader(log.path) as reader:
        series = reader.series("cu")

    # The latest slot may still have been open; a loaded machine may be a few slots late.
    assert asked_ns - before_stop.t_ns[-1] < 100_000_000
    assert set(series.values["status.DPUCZDX8G_1"].tolist()) == {4}
    assert np.all(np.diff(series.t_ns) > 0)
    assert recording.summary["cu"].samples == len(series.t_ns)
    assert recording.summary["cu"].missed == sum(gap.missed for gap in series.gaps)
    assert [path.name for path in log.path.parent.iterdir() if path.is_file()] == ["a.kvs"]


def test_samples_and_gaps_account_for_every_slot(root: Path, log: SessionLog) -> None:
    recording = start(root, log, CU)
    record(recording, log, "cu", 300)
    recording.stop()
    with SessionReader(log.path) as reader:
        series = reader.series("cu")
    slots = (series.t_ns[-1] - series.t_ns[0]) / CU.period_ms / 1e6

    assert len(series.t_ns) + sum(gap.missed for gap in series.gaps) == pytest.approx(slots, abs=2)
    assert all(earlier.end_ns <= later.start_ns for earlier, later in pairwise(series.gaps))


def test_what_is_missing_is_told_and_the_rest_recorded(root: Path, log: SessionLog) -> None:
    recording = start(root, log, CPU, APM)
    recording.stop()

    assert recording.ready.streams == ["cpu"]
    assert list(recording.ready.missing) == ["apm"]
    assert "0xfd0b0000" in recording.ready.missing["apm"]


def test_a_required_sensor_that_is_missing_is_one_line(root: Path, log: SessionLog) -> None:
    required = StreamPlan("apm", 100, options={"address": "0xfd0b0000"}, required=True)
    with pytest.raises(SensorNotFound, match=r"^A small board needs apm: .*0xfd0b0000.*$"):
        start(root, log, CPU, required)


def test_a_board_without_any_sensor_is_one_line(tmp_path: Path, log: SessionLog) -> None:
    with pytest.raises(SensorNotFound, match="A small board: no sensor can be read"):
        start(tmp_path / "nowhere", log, CU, CPU)


def test_a_session_that_is_not_there_is_one_line(root: Path, tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"no session .*b\.kvs: the file does not exist"):
        Recording.start(RecorderPlan(str(root), profile(CPU), str(tmp_path / "b.kvs")))


def test_a_sensor_that_vanishes_is_a_gap_with_a_reason(root: Path, log: SessionLog) -> None:
    state = root / "sys/class/drm/renderD128/device/kds_custat_raw"
    recording = start(root, log, CU)
    record(recording, log, "cu", 50)
    state.write_text("")
    with SessionReader(log.path) as reader:
        while not [gap for gap in reader.gaps("cu") if gap.reason != "late"]:
            recording.flush()
        state.write_text(IDLE)
        back_ns = SystemClock.now_ns()
        while samples(log, "cu", back_ns) < 50:
            recording.flush()
        recording.stop()
        [gap] = [gap for gap in reader.gaps("cu") if gap.reason != "late"]
        series = reader.series("cu")

    assert gap.missed > 0
    assert not np.any((series.t_ns > gap.start_ns + 1_000_000) & (series.t_ns < gap.end_ns - 1_000_000))
    assert set(series.values["status.DPUCZDX8G_1"].tolist()) == {4}


def test_a_file_that_cannot_grow_costs_samples_and_says_so(root: Path, log: SessionLog) -> None:
    recording = start(root, log, CU)
    record(recording, log, "cu", 20)
    _, most = resource.prlimit(recording.ready.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(recording.ready.pid, resource.RLIMIT_FSIZE, (1, most))
    with pytest.raises(SessionError, match=rf"^cannot write the session {log.path}: [^\n]*$"):
        record(recording, log, "cu", 10**9)
    assert recording.poll() is None
    resource.prlimit(recording.ready.pid, resource.RLIMIT_FSIZE, (most, most))
    back_ns = SystemClock.now_ns()
    while samples(log, "cu", back_ns) < 20:
        recording.flush()
    recording.stop()
    with SessionReader(log.path) as reader:
        series = reader.series("cu")
    lost = [gap for gap in series.gaps if gap.reason == "the session file could not be written"]

    assert sum(gap.missed for gap in lost) > 0
    assert recording.summary["cu"].samples == len(series.t_ns)
    assert recording.summary["cu"].missed == sum(gap.missed for gap in series.gaps)


def test_a_recorder_that_does_not_answer_is_killed_and_what_it_committed_stays(
    root: Path, log: SessionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ANSWER_SECONDS, "flushed", 0.2)
    recording = start(root, log, CU)
    record(recording, log, "cu", 20)
    os.kill(recording.ready.pid, signal.SIGSTOP)

    with pytest.raises(RecorderEnded, match=r"^the recorder had not answered for 0\.2 s and was killed$"):
        recording.flush()
    assert "had not answered" in (recording.poll() or "")
    recording.stop()

    assert not Path(f"/proc/{recording.ready.pid}").exists()
    assert samples(log, "cu") >= 20


def test_stopping_a_recorder_that_does_not_answer_ends_it(
    root: Path, log: SessionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ANSWER_SECONDS, "stopped", 0.2)
    recording = start(root, log, CU)
    os.kill(recording.ready.pid, signal.SIGSTOP)

    with pytest.raises(RecorderEnded, match="was killed"):
        recording.stop()
    recording.stop()

    assert not Path(f"/proc/{recording.ready.pid}").exists()


def test_a_ring_is_folded_and_stays_below_its_bound(root: Path, log: SessionLog) -> None:
    plan = RecorderPlan(str(root), profile(CU), str(log.path), ring_bytes=160_000)
    recording = Recording.start(plan)
    sizes, oldest_ns = [], set()
    while len(oldest_ns) < 3:
        recording.flush()
        sizes.append(log.path.stat().st_size + log_bytes(log.path))
        with SessionReader(log.path) as reader:
            oldest_ns.add(int(reader.series("cu").t_ns[0]) if samples(log, "cu") else 0)
    recording.stop()

    assert max(sizes) <= 160_000
    assert recording.summary["cu"].samples > samples(log, "cu")


def test_an_answer_nobody_waited_for_is_passed_over(root: Path, log: SessionLog) -> None:
    """A Ctrl-C may come between a request and its answer."""
    recording = start(root, log, CU)
    assert recording._process.stdin is not None
    recording._process.stdin.write(FLUSH.encode() + b"\n" + FLUSH.encode() + b"\n")
    recording._process.stdin.flush()
    recording.stop()

    assert recording.summary["cu"].samples > 0


def test_without_a_session_nothing_is_written(root: Path) -> None:
    recording = start(root, None, CU)
    recording.flush()
    recording.stop()

    assert recording.summary["cu"].samples >= 0
    assert sorted(path.name for path in root.iterdir()) == ["proc", "sys"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_file_cleanly(root: Path, log: SessionLog, number: signal.Signals) -> None:
    recording = start(root, log, CU)
    record(recording, log, "cu", 20)
    sent_ns = SystemClock.now_ns()
    os.kill(recording.ready.pid, number)
    recording._process.wait(10)
    ended_ns = SystemClock.now_ns()
    recording.stop()
    with SessionReader(log.path) as reader:
        last_ns = reader.series("cu").t_ns[-1]

    assert recording.poll() == "the recorder ended with code 0"
    assert ended_ns - sent_ns < 1_000_000_000
    assert sent_ns - last_ns < 100_000_000


def test_a_recorder_that_is_killed_is_told_apart(root: Path, log: SessionLog) -> None:
    recording = start(root, log, CU)
    assert recording.poll() is None
    os.kill(recording.ready.pid, signal.SIGKILL)
    recording._process.wait(10)

    assert recording.poll() == "the recorder was killed by SIGKILL"
    with pytest.raises(TelemetryError, match="was killed by SIGKILL"):
        recording.flush()
    recording.stop()


def test_a_ctrl_c_in_the_terminal_does_not_reach_the_recorder(root: Path, log: SessionLog) -> None:
    recording = start(root, log, CU)

    assert os.getsid(recording.ready.pid) != os.getsid(0)
    recording.stop()
