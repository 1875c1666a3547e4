"""Counters grow by what figures say of the same span, however the samples came in pieces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.figures import busy, cpu, memory, power
from telemetry.model import Gap, Series, Window
from telemetry.readers.apm import RESTARTED
from telemetry.service.increments import BRIDGED_NS
from telemetry.service.totals import OTHER, REASONS_MAX, Account
from tests.unit.daemon.frames import (
    APM,
    CPU,
    CU,
    GPU,
    MS,
    OBSERVER,
    POWER,
    RAPL,
    SECOND,
    TEMPERATURE,
    WRAP,
    cut,
    series,
)

CLOCK_HERTZ = 266_000_000


def account(whole: Series, places: list[int] | None = None) -> Account:
    """Everything added up, in pieces cut at the given places."""
    found = Account(whole.stream)
    for piece in cut(whole, [place % (whole.t_ns.size + 1) for place in places or []]):
        found.add(piece)
    return found


@st.composite
def times(draw: st.DrawFn, period_ns: int, longest: int = 3) -> np.ndarray:
    """Two to sixty samples, each one to `longest` periods after the one before."""
    steps = draw(st.lists(st.integers(period_ns // 2, longest * period_ns), min_size=1, max_size=60))
    return 10 * SECOND + np.cumsum([0, *steps])


places = st.lists(st.integers(0, 1000), max_size=6)


@given(data=st.data(), t_ns=times(10 * MS), where=places)
def test_energy_is_what_the_figure_says(data: st.DataObject, t_ns: np.ndarray, where: list[int]) -> None:
    watts = data.draw(st.lists(st.floats(0.5, 30), min_size=t_ns.size, max_size=t_ns.size))
    whole = series(POWER, t_ns, watts)
    averaged = power.averaging_ns(POWER) or 0
    expected = power.energy_joules(whole, Window(int(t_ns[0]) - averaged, int(t_ns[-1]) - averaged))
    assert account(whole, where).counters["joules"] == pytest.approx(expected.value, rel=1e-12)


@given(data=st.data(), t_ns=times(MS), where=places)
def test_busy_seconds_are_what_the_figure_says(data: st.DataObject, t_ns: np.ndarray, where: list[int]) -> None:
    """0x0 says nothing and holds the state before it, also over the edge of a piece."""
    status = data.draw(st.lists(st.sampled_from([0, 1, 4]), min_size=t_ns.size, max_size=t_ns.size))
    whole = series(CU, t_ns, [4, *status[1:]], np.arange(t_ns.size), np.arange(t_ns.size) // 2)
    window = Window(int(t_ns[0]), int(t_ns[-1]))
    found = account(whole, where)
    expected = busy.busy_share(whole, "DPU_1", window).value * window.seconds
    assert found.counters["busy.DPU_1"] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert found.counters["runs.DPU_1"] == (t_ns.size - 1) // 2


@given(data=st.data(), t_ns=times(100 * MS), where=places)
def test_bytes_are_what_the_figure_says_over_any_number_of_wraps(
    data: st.DataObject, t_ns: np.ndarray, where: list[int]
) -> None:
    rates = data.draw(st.lists(st.floats(0, 8e9), min_size=t_ns.size, max_size=t_ns.size))
    moved = np.cumsum([data.draw(st.integers(0, WRAP)), *np.diff(t_ns) * 1e-9 * rates[1:]]).astype(np.int64)
    clock = (t_ns * 1e-9 * CLOCK_HERTZ).astype(np.int64)
    whole = series(APM, t_ns, moved % WRAP, moved // 2 % WRAP, clock % WRAP)
    expected = memory.port_bytes(whole, Window(int(t_ns[0]), int(t_ns[-1])))
    counters = account(whole, where).counters
    assert set(counters) == {"read.slot3", "write.slot3"}
    assert {name: one.value for name, one in expected.items()} == pytest.approx(counters)


@given(data=st.data(), t_ns=times(SECOND, longest=20), where=places)
def test_cpu_seconds_are_what_the_figure_says_over_any_gap(
    data: st.DataObject, t_ns: np.ndarray, where: list[int]
) -> None:
    """The kernel counts on while nobody reads."""
    shares = data.draw(st.lists(st.floats(0, 1), min_size=t_ns.size, max_size=t_ns.size))
    total = t_ns * 1e-9
    used = np.cumsum(np.concatenate(([0.0], np.diff(total) * shares[1:])))
    whole = series(CPU, t_ns, used, total)
    counters = account(whole, where).counters
    assert counters["busy.cpu0"] == pytest.approx(used[-1] - used[0], abs=1e-6)
    assert counters["busy.cpu0"] + counters["idle.cpu0"] == pytest.approx(total[-1] - total[0])
    if t_ns.size > 3 and np.diff(t_ns)[[0, -1]].max() < 3 * SECOND and t_ns[-1] - t_ns[0] > 2 * SECOND:
        share = cpu.core_shares(whole, Window(int(t_ns[0]), int(t_ns[-1])))["cpu0"].value
        assert share * (total[-1] - total[0]) == pytest.approx(counters["busy.cpu0"], abs=1e-6)


def test_nothing_is_invented_for_a_sensor_that_was_gone() -> None:
    """The rail drew something in that hour, but nobody knows what: it is neither guessed nor 0 W over an hour."""
    before, after = 10 * SECOND + 10 * MS * np.arange(101), 3610 * SECOND + 10 * MS * np.arange(101)
    gap = Gap(11 * SECOND, 3610 * SECOND, "vanished", 359_900)
    found = account(series(POWER, np.concatenate((before, after)), 5.0, gaps=(gap,)), [101])
    assert found.counters["joules"] == pytest.approx(10.0)
    assert found.uncovered_ns == pytest.approx(3599 * SECOND, abs=20 * MS)
    assert found.gaps["vanished"] == 359_900


@pytest.mark.parametrize(("silent_ns", "bridged"), [(BRIDGED_NS, True), (BRIDGED_NS + 1, False)])
def test_a_short_silence_is_bridged_by_a_straight_line_and_told(silent_ns: int, bridged: bool) -> None:
    found = account(series(POWER, [0, silent_ns], [4.0, 6.0]))
    assert found.counters["joules"] == pytest.approx(5.0 if bridged else 0.0)
    assert found.uncovered_ns == silent_ns


def test_a_unit_of_unknown_state_is_neither_busy_nor_covered() -> None:
    unknown = account(series(CU, MS * np.arange(11), 0, 0, 0))
    assert unknown.counters["busy.DPU_1"] == 0.0
    assert unknown.uncovered_ns == 10 * MS
    crashed = account(series(CU, MS * np.arange(5), [1, 1, 1, 0xFFFF_FFFF, 0xFFFF_FFFF], 0, 0))
    assert crashed.counters["busy.DPU_1"] == pytest.approx(0.002)
    assert crashed.uncovered_ns == 2 * MS


def test_a_state_held_before_a_long_run_of_nothing_is_not_forgotten() -> None:
    pieces = [series(CU, [0], 1, 0, 0)] + [series(CU, [k * MS], 0, 0, 0) for k in range(1, 50)]
    found = Account(CU)
    for piece in pieces:
        found.add(piece)
    assert found.counters["busy.DPU_1"] == pytest.approx(0.049)


def test_a_reloaded_firmware_starts_its_counts_anew_and_no_counter_falls() -> None:
    t_ns = MS * np.arange(6)
    found = account(series(CU, t_ns, 4, 0, [100, 101, 102, 0, 1, 3]))
    assert found.counters["runs.DPU_1"] == 5


def monitor(resets_at: int | None, gap: bool) -> Series:
    """3 s of 1 GB/s read; the monitor is reset between two samples, and its reader may have noticed."""
    t_ns = 100 * MS * np.arange(31)
    counts, clock = 10**8 * np.arange(31), CLOCK_HERTZ // 10 * np.arange(31)
    gaps: tuple[Gap, ...] = ()
    if resets_at is not None:
        counts[resets_at:] -= counts[resets_at] - 5 * 10**7
        clock[resets_at:] -= clock[resets_at] - CLOCK_HERTZ // 20
        gaps = (Gap((resets_at - 1) * 100 * MS + 1, resets_at * 100 * MS - 1, RESTARTED, 1),) if gap else ()
    return series(APM, t_ns, counts % WRAP, 0, clock % WRAP, gaps=gaps)


@pytest.mark.parametrize("where", [[], [15], [14, 15, 16], list(range(31))])
@pytest.mark.parametrize("gap", [True, False])
def test_a_reset_of_the_memory_monitor_adds_no_phantom_bytes(where: list[int], gap: bool) -> None:
    found = account(monitor(15, gap), where)
    assert found.counters["read.slot3"] == 29 * 10**8
    assert found.uncovered_ns == 100 * MS


def test_a_memory_gap_in_which_a_counter_may_have_turned_is_left_out() -> None:
    t_ns = np.array([0, 100, 200, 800, 900]) * MS
    clock = t_ns // 1000 * 266
    found = account(series(APM, t_ns, t_ns, 0, clock))
    assert found.counters["read.slot3"] == 300 * MS
    assert found.uncovered_ns == 600 * MS


def test_an_energy_counter_wraps_and_a_gap_in_which_it_may_have_turned_is_left_out() -> None:
    whole = series(RAPL, np.array([0, 10, 20, 30, 230]) * MS, [99.0, 99.5, 0.5, 1.0, 1.5])
    found = account(whole, [2])
    assert found.counters["joules"] == pytest.approx(2.0)
    assert found.uncovered_ns == 200 * MS


def test_a_ratio_is_integrated_to_busy_seconds() -> None:
    assert account(series(GPU, 100 * MS * np.arange(11), 0.25)).counters == {"busy.gpu": pytest.approx(0.25)}


def test_levels_are_the_latest_and_add_up_to_nothing() -> None:
    found = account(series(TEMPERATURE, SECOND * np.arange(3), [40.0, 41.0, 42.5]))
    assert (found.levels, found.counters) == ({"celsius.ps": 42.5}, {})


def test_another_recorder_counts_on_where_the_one_before_ended() -> None:
    found = account(series(OBSERVER, [0, SECOND], [3.0, 4.0]))
    found.describe(OBSERVER)
    found.add(series(OBSERVER, [5 * SECOND, 6 * SECOND], [0.1, 0.3]))
    assert found.counters["cpu_seconds"] == pytest.approx(1.2)


def test_reasons_of_gaps_stay_few_whatever_a_reader_says() -> None:
    gaps = [Gap(k, k + 1, f"reason {k}", 1) for k in range(100)]
    gaps += [Gap(k, k + 1, f"reader error: KeyError({k})", 1) for k in range(100)]
    found = account(series(POWER, [1000], 5.0, gaps=tuple(gaps)))
    assert len(found.gaps) == REASONS_MAX + 1
    assert sum(found.gaps.values()) == 200
    assert found.gaps[OTHER] > 100
    assert not any("KeyError" in reason for reason in found.gaps)


def test_lateness_is_counted_by_its_bounds() -> None:
    found = Account(POWER)
    for late_ns in (0, 10_000, 10_001, 2 * SECOND):
        found.add(series(POWER, [found.samples], 5.0, late_ns=late_ns))
    counts = found.totals(None, True, None).late_counts
    assert (counts[0], counts[1], counts[-1]) == (2, 1, 1)
    assert math.isclose(found.totals(None, True, None).late_seconds, 2.000020001)
