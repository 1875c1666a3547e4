"""The memory monitor counts what a reader programmed by board facts 2.6 asks for."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from virtual_board.apm import Monitor
from virtual_board.constants import Constants

SELECTORS = (0x42432223, 0x82836263, 0x0000A2A3)
RUN, STOP = 0x10001, 0x0
QUIET = Constants(background_bytes_per_second={})


class Page:
    """What another process sees."""

    def __init__(self, root: Path) -> None:
        descriptor = os.open(root / "dev/uio1", os.O_RDWR)
        self._map = mmap.mmap(descriptor, 4096)
        os.close(descriptor)
        self.words = (ctypes.c_uint32 * 1024).from_buffer(self._map)

    def program(self) -> None:
        for offset, word in zip((0x044, 0x048, 0x04C), SELECTORS, strict=True):
            self.words[offset >> 2] = word
        self.words[0x300 >> 2] = RUN

    def counters(self) -> dict[str, int]:
        values = [self.words[0x100 + 0x10 * index >> 2] for index in range(10)]
        names = [f"{way}.slot{slot}" for slot in range(1, 6) for way in ("read", "write")]
        return dict(zip(names, values, strict=True))

    def close(self) -> None:
        del self.words
        self._map.close()


@contextmanager
def programmed(root: Path, constants: Constants = QUIET, seed: int = 1) -> Iterator[tuple[Monitor, Page]]:
    (root / "dev").mkdir(parents=True, exist_ok=True)
    monitor = Monitor(root, constants, random.Random(seed), 0)
    page = Page(root)
    page.program()
    monitor.publish(0)
    yield monitor, page
    page.close()
    monitor.close()


def test_a_run_moves_exactly_its_bytes_and_evenly(tmp_path: Path) -> None:
    with programmed(tmp_path) as (monitor, page):
        before = page.counters()
        monitor.start(1_000_000, 4_000_000, {"read.slot3": 1001, "write.slot4": 500})
        monitor.publish(3_000_000)
        assert page.counters()["read.slot3"] - before["read.slot3"] == 500
        monitor.finish(5_200_000)
        after = page.counters()
        moved = {name: after[name] - before[name] for name in after if after[name] != before[name]}
        assert moved == {"read.slot3": 1001, "write.slot4": 500}


def test_nothing_is_counted_while_the_monitor_is_stopped(tmp_path: Path) -> None:
    with programmed(tmp_path) as (monitor, page):
        page.words[0x300 >> 2] = STOP
        before = page.counters()
        monitor.start(0, 1000, {"read.slot3": 10**6})
        monitor.finish(1000)
        page.words[0x300 >> 2] = RUN
        monitor.publish(2000)
        assert page.counters() == before


def test_a_reset_that_stays_set_zeroes_counters_and_clock(tmp_path: Path) -> None:
    with programmed(tmp_path) as (monitor, page):
        page.words[0x300 >> 2] = 0x20002
        monitor.publish(1_000_000)
        assert set(page.counters().values()) == {0}
        assert page.words[1] == 0


def test_a_counter_follows_its_selector(tmp_path: Path) -> None:
    with programmed(tmp_path) as (monitor, page):
        page.words[0x044 >> 2] = 2 | 5 << 5  # counter 0: bytes written at slot 5; the rest of the word: metric 0
        before = page.counters()
        monitor.start(0, 1000, {"write.slot5": 77, "read.slot1": 1000, "write.slot1": 1000})
        monitor.finish(1000)
        after = page.counters()
        assert after["read.slot1"] - before["read.slot1"] == 77
        assert after["write.slot1"] == before["write.slot1"]


def test_the_clock_runs_at_the_monitors_rate(tmp_path: Path) -> None:
    with programmed(tmp_path) as (monitor, page):
        monitor.publish(1_000_000_000)
        assert page.words[1] == pytest.approx(533_333_333, abs=1)


def test_background_traffic_is_constant_on_the_cpus_ports(tmp_path: Path) -> None:
    with programmed(tmp_path, Constants()) as (monitor, page):
        before = page.counters()
        monitor.publish(1_000_000_000)
        after = page.counters()
        assert after["read.slot1"] - before["read.slot1"] == 400_000
        assert after["read.slot3"] == before["read.slot3"]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 10**8), st.lists(st.integers(0, 120), max_size=4))))
def test_differences_modulo_the_width_add_up_to_the_bytes_moved(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, int, list[int]]]
) -> None:
    """Whatever the sizes, durations and publishing instants, as long as no step exceeds one wrap."""
    with programmed(tmp_path_factory.mktemp("apm")) as (monitor, page):
        now_ns, seen, total = 0, page.counters()["read.slot3"], 0

        def look() -> None:
            nonlocal seen, total
            value = page.counters()["read.slot3"]
            total += (value - seen) % 2**32
            seen = value

        for size_bytes, duration_ns, percents in runs:
            monitor.start(now_ns, duration_ns, {"read.slot3": size_bytes})
            for percent in sorted([*percents, 50]):
                monitor.publish(now_ns + duration_ns * percent // 100)
                look()
            now_ns += 2 * duration_ns
            monitor.finish(now_ns)
            look()
        assert total == sum(size_bytes for size_bytes, _, _ in runs)


def test_preset_counters_wrap_soon(tmp_path: Path) -> None:
    with programmed(tmp_path) as (monitor, page):
        monitor.preset(-100)
        monitor.publish(0)
        assert page.counters()["read.slot3"] == 2**32 - 100
        monitor.start(0, 10, {"read.slot3": 150})
        monitor.finish(10)
        assert page.counters()["read.slot3"] == 50
