"""The pipe from a recorder to the service: what arrives, and what happens when nobody reads."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry import feed
from telemetry.errors import TelemetryError
from telemetry.feed import NOT_TAKEN, FeedReader, FeedWriter, Frame, Samples, encode
from telemetry.model import Column, Gap, Stream

POWER = Stream("power.som", "hwmon-power", 10_000_000, (Column("watts", "W", "gauge"),), {"chip": "ina260"})
APM = Stream("apm", "apm", 100_000_000, (Column("read.slot1", "B", "counter", 2**32),))


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def watts(first: int, count: int) -> dict[str, tuple[array[int], array[int], list[array[float]]]]:
    times = array("q", range(first, first + count))
    return {"power.som": (times, array("q", [0] * count), [array("d", [5.0] * count)])}


def test_what_is_sent_arrives_with_its_streams_once(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    writer, reader = FeedWriter(writing, [POWER]), FeedReader()
    gap = Gap(1, 2, "vanished", 1)
    writer.send(7, watts(10, 3), [("power.som", gap)], {"apm": "no monitor"}, None)
    writer.add_stream(APM)
    writer.send(8, {}, [], {}, "disk full")
    first, second = reader.frames(os.read(reading, 1 << 20))

    assert (first.t_ns, first.streams, first.gaps) == (7, [POWER], [("power.som", gap)])
    assert first.missing == {"apm": "no monitor"}
    [samples] = first.samples
    assert array("q", samples.t_ns).tolist() == [10, 11, 12]
    assert array("d", samples.columns[0]).tolist() == [5.0, 5.0, 5.0]
    assert (second.streams, second.samples, second.fault) == ([APM], [], "disk full")


@given(sizes=st.lists(st.integers(0, 40), max_size=5), cuts=st.lists(st.integers(1, 50), min_size=1))
def test_frames_survive_any_cutting_of_the_bytes(sizes: list[int], cuts: list[int]) -> None:
    frames = [Frame(size, [], [Samples("a", b"x" * size, b"", [])]) for size in sizes]
    data = b"".join(map(encode, frames))
    reader, found = FeedReader(), []
    for place in range(len(data)):
        cut = cuts[place % len(cuts)]
        piece, data = data[:cut], data[cut:]
        found += list(reader.frames(piece))
    assert found == frames


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\x02\0\0\0ab"])
def test_what_is_no_feed_is_refused(data: bytes) -> None:
    with pytest.raises(TelemetryError, match="the recorder sent a frame"):
        list(FeedReader().frames(data))


def test_a_service_that_does_not_read_costs_bounded_memory_and_is_told_what_it_missed(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "BACKLOG_BYTES", 50_000)
    reading, writing = pipe
    writer, reader = FeedWriter(writing, [POWER]), FeedReader()
    count = 1000
    for first in range(0, 100 * count, count):
        writer.send(first, watts(first, count), [], {}, None)
        assert len(writer._backlog) < 50_000 + 40 * count
    os.set_blocking(reading, False)

    def received() -> Iterator[Frame]:
        while True:
            try:
                yield from reader.frames(os.read(reading, 1 << 16))
            except BlockingIOError:
                return

    frames = list(received())
    for first in range(100 * count, 110 * count, count):
        writer.send(first, watts(first, count), [], {}, None)
        frames += received()

    taken = [t for frame in frames for samples in frame.samples for t in array("q", samples.t_ns)]
    lost = [gap for frame in frames for _, gap in frame.gaps]
    assert taken == sorted(set(taken))
    assert {gap.reason for gap in lost} == {NOT_TAKEN}
    assert len(taken) + sum(gap.missed for gap in lost) == 110 * count
    assert taken[-1] == 110 * count - 1


def test_a_service_that_is_gone_does_not_disturb_the_recorder() -> None:
    reading, writing = os.pipe()
    writer = FeedWriter(writing, [POWER])
    os.close(reading)
    writer.send(1, watts(0, 3), [], {}, None)
    writer.send(2, watts(3, 3), [], {}, None)
    os.close(writing)
