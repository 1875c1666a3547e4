"""External memory traffic from wrapping counters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.figures import Quality, memory
from telemetry.figures.figure import figure
from telemetry.figures.throughput import ExecutionSpan
from telemetry.model import Series, Window

Build = Callable[..., Series]
MS = 1_000_000
SECOND = 1000 * MS
GHZ = 533_333_333
TIMES = np.arange(0, 20 * SECOND + 1, 100 * MS)


def ports(rate: float) -> dict[str, np.ndarray]:
    """Five slots; reads at `rate` bytes per second in all, writes at half of it."""
    shared = TIMES / SECOND / 5
    return {f"{way}.slot{slot}": rate * share * shared for slot in range(1, 6) for way, share in WAYS}


WAYS = (("read", 1.0), ("write", 0.5))


@given(st.integers(0, 2**32 - 1), st.floats(1, 8.5e9), st.integers(0, 15 * SECOND), st.integers(SECOND, 4 * SECOND))
def test_a_steady_rate_survives_any_number_of_wraps(
    apm_series: Build, baseline: int, rate: float, begin: int, length: int
) -> None:
    counted = {"read.slot3": np.round(rate * TIMES / SECOND).astype(np.int64) + baseline}
    moved = memory.port_bytes(apm_series(TIMES, counted), Window(begin, begin + length))["read.slot3"]
    assert moved.value == pytest.approx(rate * length / SECOND, rel=1e-6, abs=1)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 20_000), min_size=3, max_size=3, unique=True))
def test_bytes_of_adjacent_windows_and_of_ports_add_up(apm_series: Build, seed: int, edges: list[int]) -> None:
    draw = np.random.default_rng(seed)
    counted = {name: np.cumsum(draw.integers(0, 800_000_000, TIMES.size)) for name in ports(1)}
    series = apm_series(TIMES, counted)
    first, middle, last = (edge * MS for edge in sorted(edges))
    whole, *parts = (memory.port_bytes(series, Window(*p)) for p in ((first, last), (first, middle), (middle, last)))
    for name, moved in whole.items():
        assert sum(part[name].value for part in parts) == pytest.approx(moved.value, rel=1e-9, abs=1e-3)
    rates = memory.bandwidth(series, Window(first, last))
    total = sum(moved.value for moved in whole.values()) * SECOND / (last - first)
    assert rates["read"].value + rates["write"].value == pytest.approx(rates["total"].value)
    assert rates["total"].value == pytest.approx(total)


def test_chosen_slots_alone_are_summed(apm_series: Build) -> None:
    series = apm_series(TIMES, ports(3e9))
    rates = memory.bandwidth(series, Window(SECOND, 9 * SECOND), slots=["slot3", "slot4"])
    assert {way: rate.value for way, rate in rates.items()} == pytest.approx(
        {"read": 1.2e9, "write": 0.6e9, "total": 1.8e9}, rel=1e-6
    )


def test_bytes_per_execution_are_counted_between_completions(apm_series: Build) -> None:
    completions = np.arange(1030 * MS, 9 * SECOND, 20 * MS)
    series = apm_series(TIMES, ports(3e9), clock=GHZ * TIMES / SECOND)
    moved = memory.bytes_per_execution(series, Window(SECOND, 9 * SECOND), completions)
    assert moved["total"].value == pytest.approx(4.5e9 * 0.02, rel=1e-6)
    assert moved["total"].name == "bytes_per_execution.total"


def test_a_gap_in_which_a_counter_could_turn_unseen_is_refused(apm_series: Build) -> None:
    """2**32 bytes at 8.5 GB/s take 505 ms."""
    short = (TIMES <= 5 * SECOND) | (TIMES >= 5_500 * MS)
    long = (TIMES <= 5 * SECOND) | (TIMES >= 5_600 * MS)
    series = [apm_series(TIMES[kept], {"read.slot1": (1e9 * TIMES / SECOND)[kept]}) for kept in (short, long)]
    moved = memory.port_bytes(series[0], Window(SECOND, 9 * SECOND))["read.slot1"]
    assert moved.value == pytest.approx(8e9)
    assert moved.quality.worst_gap_ns == 500 * MS
    with pytest.raises(NotCovered, match="gap of 600 ms; above 505 ms a byte counter may have wrapped unseen"):
        memory.port_bytes(series[1], Window(SECOND, 9 * SECOND))
    assert memory.port_bytes(series[1], Window(6 * SECOND, 9 * SECOND))["read.slot1"].value == pytest.approx(3e9)


@pytest.mark.parametrize(
    "clock", [np.where(TIMES < 5 * SECOND, TIMES, TIMES - 5 * SECOND), np.minimum(TIMES, 5 * SECOND)]
)
def test_a_monitor_that_was_reset_or_stopped_is_refused(apm_series: Build, clock: np.ndarray) -> None:
    series = apm_series(TIMES, ports(1e9), clock=GHZ * (clock / SECOND))
    with pytest.raises(NotCovered, match="stopped or reset"):
        memory.port_bytes(series, Window(SECOND, 9 * SECOND))
    assert memory.port_bytes(series, Window(SECOND, 4 * SECOND))["read.slot1"].value == pytest.approx(0.6e9, rel=1e-6)


def test_a_monitor_that_never_ran_gives_no_zero(apm_series: Build) -> None:
    series = apm_series(TIMES, ports(0), clock=TIMES * 0)
    with pytest.raises(NotCovered, match="stopped or reset"):
        memory.bandwidth(series, Window(SECOND, 9 * SECOND))


def test_a_window_beyond_the_samples_is_refused(apm_series: Build) -> None:
    with pytest.raises(NotCovered, match="both sides"):
        memory.port_bytes(apm_series(TIMES, ports(1e9)), Window(SECOND, 21 * SECOND))


def test_what_moves_at_idle_is_taken_off_an_execution(apm_series: Build) -> None:
    window, rate = Window(SECOND, 9 * SECOND), figure("throughput", 50.0, Quality(1, None, None, None, 1.0))
    busy, idle = (memory.bandwidth(apm_series(TIMES, ports(r)), window)["read"] for r in (3e9, 1e8))
    per_execution = figure("bytes_per_execution", busy.value / 50, busy.quality, part="read")
    left = memory.above_idle(per_execution, idle, rate)
    assert (left.name, left.value) == ("bytes_above_idle_per_execution.read", pytest.approx(2.9e9 / 50, rel=1e-6))


def test_bursts_at_the_edges_are_a_doubt_that_falls_with_the_number_of_executions(apm_series: Build) -> None:
    """One burst of 60 MB every two seconds: either edge may cut an interval with a whole burst in it."""
    bursts = 60e6 * np.floor(TIMES / (2 * SECOND) + 0.5)
    series = apm_series(TIMES, {"read.slot3": bursts}, clock=GHZ * TIMES / SECOND)
    spans = [ExecutionSpan(Window(950 * MS, 950 * MS + 2 * count * SECOND), count) for count in (1, 4)]
    doubts = [memory.edge_doubt_bytes(series, span, 60e6) for span in spans]
    assert doubts[0] == pytest.approx(60e6 / np.sqrt(6))
    assert doubts[1] == pytest.approx(doubts[0] / 4)


def test_an_edge_between_bursts_leaves_no_doubt(apm_series: Build) -> None:
    bursts = 60e6 * np.floor(TIMES / (2 * SECOND) + 0.5)
    series = apm_series(TIMES, {"read.slot3": bursts}, clock=GHZ * TIMES / SECOND)
    assert memory.edge_doubt_bytes(series, ExecutionSpan(Window(2 * SECOND, 6 * SECOND), 2), 60e6) == 0
