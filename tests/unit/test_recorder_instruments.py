"""From a board profile to streams, and from what loops have read to the session file."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemetry.boards import BoardProfile, StreamPlan
from telemetry.errors import SensorNotFound
from telemetry.files import SystemFiles
from telemetry.instruments import Instruments
from telemetry.model import Column, Gap
from telemetry.protocol import StreamSummary
from telemetry.session import ChunkWriter, SessionLog, SessionReader
from telemetry.session.packing import typecode

MS = 1_000_000
STAT = "cpu  1 0 1 9 0 0 0 0 0 0\ncpu0 1 0 1 9 0 0 0 0 0 0\n"
CPU = StreamPlan("proc-stat", 1000)
CU = StreamPlan("xrt-cu", 1, group="fast")


class StillClock:
    def __init__(self) -> None:
        self.time_ns = 50 * MS

    def now_ns(self) -> int:
        return self.time_ns

    def sleep_until_ns(self, due_ns: int) -> None:
        raise AssertionError("opening and handing over do not wait")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root/proc").mkdir(parents=True)
    (tmp_path / "root/proc/stat").write_text(STAT)
    return tmp_path / "root"


@pytest.fixture
def instruments(root: Path) -> Instruments:
    return Instruments(SystemFiles(), root, StillClock())


def profile(*plans: StreamPlan) -> BoardProfile:
    return BoardProfile(name="small", title="A small board", streams=plans)


def add_unit(root: Path) -> None:
    device = root / "sys/class/drm/renderD128/device"
    device.mkdir(parents=True)
    (device / "kds_custat_raw").write_text("0,0,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,0x4,0\n")


class Session:
    """A session with a writer for the streams of some instruments."""

    def __init__(self, path: Path, instruments: Instruments) -> None:
        self.path = path
        self.log = SessionLog.create(path)
        self.writer = ChunkWriter(path, [i.stream for i in instruments.opened.values()])

    def reader(self) -> SessionReader:
        return SessionReader(self.path)

    def fill_up(self) -> None:
        """Make every further page a `database or disk is full`."""
        connection = self.writer._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages}")

    def make_room(self) -> None:
        self.writer._connection.execute("PRAGMA max_page_count=100000")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.writer.close()
        self.log.close()


def read_cpu(instruments: Instruments, *begins_ns: int) -> None:
    """As the loop would: one row per instant, read in 10 ns and due 3 ns before."""
    track = instruments.opened["cpu"].track
    track.rows += [(t - 3, t, t + 10, track.reader.read()) for t in begins_ns]


def test_a_sample_is_the_middle_of_its_read_with_its_lateness(instruments: Instruments, tmp_path: Path) -> None:
    instruments.open(profile(CPU))
    read_cpu(instruments, 100, 200)
    instruments.opened["cpu"].track.miss(300, 400, "busy", 1)
    with Session(tmp_path / "a.kvs", instruments) as session:
        assert instruments.hand_over(session.writer) is None
        with session.reader() as reader:
            series = reader.series("cpu")

    assert series.t_ns.tolist() == [105, 205]
    assert series.late_ns.tolist() == [3, 3]
    assert series.values["total.cpu0"].tolist() == pytest.approx([0.11, 0.11])
    assert series.gaps == (Gap(300, 400, "busy", 1),)
    assert instruments.summary() == {"cpu": StreamSummary(samples=2, missed=1, late=0)}


def test_what_was_handed_over_is_not_handed_over_again(instruments: Instruments, tmp_path: Path) -> None:
    instruments.open(profile(CPU))
    with Session(tmp_path / "a.kvs", instruments) as session:
        for t in (100, 200, 300):
            read_cpu(instruments, t)
            instruments.hand_over(session.writer)
        instruments.hand_over(session.writer)
        with session.reader() as reader:
            assert reader.series("cpu").t_ns.tolist() == [105, 205, 305]


def test_late_samples_are_counted(instruments: Instruments) -> None:
    instruments.open(profile(CPU))
    values = instruments.opened["cpu"].track.reader.read()
    instruments.opened["cpu"].track.rows += [
        (0, MS, MS, values),
        (0, MS + 1, MS + 2, values),
        (0, 5 * MS, 5 * MS, values),
    ]
    instruments.hand_over(None)

    assert instruments.summary()["cpu"].late == 2


def test_a_reader_that_breaks_its_promise_is_a_gap(instruments: Instruments, tmp_path: Path) -> None:
    instruments.open(profile(CPU))
    track = instruments.opened["cpu"].track
    with Session(tmp_path / "a.kvs", instruments) as session:
        for values in [("text", 1.0), (1.0,), (1.0, 2.0, 3.0)]:
            track.rows.append((5, 5, 6, values))
            assert instruments.hand_over(session.writer) is None
        with session.reader() as reader:
            reasons = [gap.reason for gap in reader.gaps("cpu")]
            samples = len(reader.series("cpu").t_ns)

    assert samples == 0
    assert len(reasons) == 3
    assert all(reason.startswith("reader error: ") for reason in reasons)


def test_samples_that_cannot_be_written_are_counted_and_confessed(instruments: Instruments, tmp_path: Path) -> None:
    instruments.open(profile(CPU))
    with Session(tmp_path / "a.kvs", instruments) as session:
        read_cpu(instruments, 100)
        instruments.hand_over(session.writer)
        session.fill_up()
        complaints = []
        for t in range(200, 3000, 100):
            read_cpu(instruments, *range(t, t + 100))
            complaints.append(instruments.hand_over(session.writer))
        kept = complaints.index(next(filter(None, complaints)))
        session.make_room()
        read_cpu(instruments, 5000)
        assert instruments.hand_over(session.writer) is None
        with session.reader() as reader:
            series = reader.series("cpu")

    assert complaints[kept:] == [f"cannot write the session {tmp_path}/a.kvs: database or disk is full"] * (28 - kept)
    assert series.t_ns.tolist() == [105, *range(205, 205 + 100 * kept), 5005]
    assert series.gaps == (Gap(205 + 100 * kept, 3004, "the session file could not be written", 100 * (28 - kept)),)
    assert instruments.summary() == {"cpu": StreamSummary(len(series.t_ns), 100 * (28 - kept), 0)}


def test_a_sensor_that_comes_later_joins_with_a_gap_from_the_start(instruments: Instruments, root: Path) -> None:
    instruments.open(profile(CPU, CU))
    [(plan, reason)] = instruments.missing.values()
    assert plan == CU
    assert instruments.retry() == []
    add_unit(root)
    instruments.clock.time_ns += 25 * MS  # type: ignore[attr-defined]
    [stream] = instruments.retry()

    assert stream.name == "cu"
    assert instruments.missing == {}
    assert instruments.opened["cu"].track.gaps == [Gap(50 * MS, 75 * MS, reason, 25)]
    assert set(instruments.samplers) == {"slow", "fast"}


def test_a_stream_that_joined_late_is_written(instruments: Instruments, root: Path, tmp_path: Path) -> None:
    instruments.open(profile(CPU, CU))
    with Session(tmp_path / "a.kvs", instruments) as session:
        add_unit(root)
        [stream] = instruments.retry()
        session.writer.add_stream(stream)
        instruments.opened["cu"].track.rows.append((1, 2, 4, (4, 0)))
        instruments.hand_over(session.writer)
        with session.reader() as reader:
            assert reader.series("cu").t_ns.tolist() == [3]
            assert [stream.name for stream in reader.streams()] == ["cpu", "cu"]


def test_a_required_sensor_is_required(instruments: Instruments) -> None:
    with pytest.raises(SensorNotFound, match="A small board needs xrt-cu: "):
        instruments.open(profile(CPU, StreamPlan("xrt-cu", 1, required=True)))


def test_counters_of_seconds_are_stored_as_they_are() -> None:
    """A counter's storage follows its unit: whole things as integers, seconds and joules as doubles."""
    kinds = {
        ("state", "1"): "q",
        ("counter", "B"): "q",
        ("counter", "1"): "q",
        ("counter", "s"): "d",
        ("gauge", "1"): "d",
    }
    assert {key: typecode(Column("x", key[1], key[0])) for key in kinds} == kinds  # type: ignore[arg-type]
