"""A session bounded in size: the oldest samples go, file and log stay below the bound, all streams keep one span."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from telemetry.model import Column, Gap, Stream
from telemetry.session import ChunkWriter, SessionLog, SessionReader
from telemetry.session.schema import fold_log, log_bytes

FAST = Stream("fast", "xrt-cu", 1_000_000, (Column("status", "1", "state"),))
SLOW = Stream("slow", "proc-stat", 1_000_000_000, (Column("busy", "s", "counter"),))
RING_BYTES = 1_000_000
SAMPLES = 750


def record(writer: ChunkWriter, step: int, rng: np.random.Generator) -> None:
    """What one handing over writes: random bytes, so that packing saves nothing."""
    moments = array("q", (step * 1000 + np.arange(SAMPLES)).tolist())
    noise = array("q", rng.integers(-(2**62), 2**62, SAMPLES).tolist())
    with writer.transaction():
        writer.chunk("fast", moments, noise, [noise])
        writer.chunk("slow", moments[:1], noise[:1], [array("d", [float(step)])])
        writer.gap("slow", Gap(step * 1000, step * 1000 + 10, "busy", 1))


def test_a_ring_stays_below_its_bound_and_keeps_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "a.kvs"
    log = SessionLog.create(path)
    writer = ChunkWriter(path, [FAST, SLOW], RING_BYTES)
    rng = np.random.default_rng(2)
    sizes = []
    for step in range(400):
        record(writer, step, rng)
        if writer.log_is_long:
            fold_log(path)
        sizes.append(path.stat().st_size + log_bytes(path))
    with SessionReader(path) as reader:
        fast, slow = reader.series("fast"), reader.series("slow")
        gaps = reader.gaps("slow")
    writer.close()
    log.close()

    assert max(sizes) <= RING_BYTES
    assert fast.t_ns[-1] == 399_000 + SAMPLES - 1
    assert np.all(np.diff(fast.t_ns) > 0)
    # Half of the bound and more is samples: 12 kB a step of times and noise.
    assert len(fast.t_ns) > 0.5 * RING_BYTES / 12_000 * SAMPLES
    assert abs(int(fast.t_ns[0]) - int(slow.t_ns[0])) <= 1000
    assert slow.t_ns[-1] == 399_000
    assert gaps[0].end_ns >= min(fast.t_ns[0], slow.t_ns[0])
    assert path.stat().st_size <= RING_BYTES


def test_a_folded_log_is_short_again(tmp_path: Path) -> None:
    """Otherwise each later commit would ask for another fold, and that for an fsync."""
    path = tmp_path / "a.kvs"
    log = SessionLog.create(path)
    writer = ChunkWriter(path, [FAST, SLOW], RING_BYTES)
    rng = np.random.default_rng(2)
    step = 0
    while not writer.log_is_long:
        record(writer, step, rng)
        step += 1
    fold_log(path)
    record(writer, step, rng)
    long_after = writer.log_is_long
    writer.close()
    log.close()

    assert not long_after


def test_a_ring_folds_its_log_itself_if_nobody_else_does(tmp_path: Path) -> None:
    path = tmp_path / "a.kvs"
    log = SessionLog.create(path)
    writer = ChunkWriter(path, [FAST, SLOW], RING_BYTES)
    rng = np.random.default_rng(2)
    sizes = []
    for step in range(150):
        record(writer, step, rng)
        sizes.append(path.stat().st_size + log_bytes(path))
    writer.close()
    log.close()

    assert max(sizes) <= RING_BYTES


def test_without_a_bound_nothing_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.kvs"
    log = SessionLog.create(path)
    writer = ChunkWriter(path, [FAST, SLOW])
    rng = np.random.default_rng(2)
    for step in range(100):
        record(writer, step, rng)
    writer.close()
    log.close()
    with SessionReader(path) as reader:
        assert len(reader.series("fast").t_ns) == 100 * SAMPLES


def test_a_gap_that_goes_on_is_one_row(tmp_path: Path) -> None:
    """A sensor that is gone for a day must not leave a row for every commit."""
    path = tmp_path / "a.kvs"
    log = SessionLog.create(path)
    writer = ChunkWriter(path, [SLOW])
    for step in range(50):
        with writer.transaction():
            writer.gap("slow", Gap(step * 10, step * 10 + 10, "vanished", 1))
    (rows,) = writer._connection.execute("SELECT count(*) FROM gap").fetchone()
    with SessionReader(path) as reader:
        gaps = reader.gaps("slow")
    writer.close()
    log.close()

    assert rows == 1
    assert gaps == [Gap(0, 500, "vanished", 50)]
