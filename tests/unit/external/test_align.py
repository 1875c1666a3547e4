"""Meters on clocks of their own, found by the load."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kv260_runtime.external.align import Level, align, align_with_rate, correlations
from kv260_runtime.external.columns import parse_columns
from kv260_runtime.external.meter_file import Readings, read_readings
from telemetry.errors import NotCovered
from telemetry.model import Window
from tests.unit.external import loads
from tests.unit.external.loads import MS, SECOND, meter

EPOCH_NS = 1000 * SECOND
"""Where the session's clock stands at second 0 of the load."""
PATTERN = Window(EPOCH_NS, EPOCH_NS + 15 * SECOND)
LATE = Window(EPOCH_NS + 112 * SECOND, EPOCH_NS + 125 * SECOND)


def rail():
    t = np.arange(0, loads.END, 0.01)
    return Level("power.som", EPOCH_NS + np.rint(t * SECOND).astype(np.int64), loads.rail_watts(t, 0.01))


RAIL = rail()


def error_ns(alignment, starts_at, at=0.0, rate=1.0):
    """How wrong the session time of the meter's own second `at` comes out."""
    truth = EPOCH_NS + (starts_at + rate * at) * SECOND
    return float(alignment.session_ns(np.array([round(at * SECOND)]))[0] - truth)


@settings(max_examples=40, deadline=None)
@given(
    starts_at=st.floats(-200, -1),
    period=st.sampled_from([0.02, 0.1, 0.25, 1.0]),
    noise=st.floats(0, 0.1),
    seed=st.integers(0, 100),
)
def test_a_meter_that_began_earlier_is_aligned_to_a_fraction_of_its_period(starts_at, period, noise, seed):
    found = align(meter(starts_at, period, noise=noise, seed=seed), RAIL, PATTERN)

    assert abs(error_ns(found, starts_at)) < max(0.15 * period, 0.02) * SECOND
    assert found.correlation > 0.9


def test_a_clock_that_runs_fast_is_set_right_at_the_end_of_the_session():
    rate = 1.001
    readings = meter(-20, 0.02, rate=rate)
    first = align(readings, RAIL, PATTERN)
    found = align_with_rate(readings, RAIL, PATTERN, LATE)

    assert abs(error_ns(first, -20, at=140, rate=rate)) > 80 * MS
    assert abs(error_ns(found, -20, at=140, rate=rate)) < 20 * MS
    assert found.rate == pytest.approx(rate, abs=3e-4)


def test_a_slow_meters_clock_is_believed_where_edges_tell_no_better():
    readings = meter(-20, 1.0, rate=1.00005)

    assert align_with_rate(readings, RAIL, PATTERN, LATE).rate == 1.0


def test_a_meter_that_stopped_early_keeps_the_rate_of_one():
    readings = meter(-20, 0.1, until=60)

    assert align_with_rate(readings, RAIL, PATTERN, LATE) == align(readings, RAIL, PATTERN)


def test_a_file_without_the_pulse_is_refused():
    with pytest.raises(NotCovered, match="not found in the meter's readings"):
        align(meter(16, 0.1), RAIL, PATTERN)


def test_noise_is_no_pulse():
    noise = Readings(np.arange(2000) * 100 * MS, np.random.default_rng(3).standard_normal(2000))
    with pytest.raises(NotCovered, match="not found"):
        align(noise, RAIL, PATTERN)


def test_a_file_shorter_than_the_pulse_is_refused():
    with pytest.raises(NotCovered, match="the meter's file covers"):
        align(meter(0, 0.1, until=10), RAIL, PATTERN)


def test_runs_alike_without_a_pulse_may_be_any_of_them():
    run = Window(EPOCH_NS + 54 * SECOND, EPOCH_NS + 89 * SECOND)
    with pytest.raises(NotCovered, match="more than once"):
        align(meter(-5, 0.1), RAIL, run)


def test_the_state_of_a_compute_unit_serves_where_there_is_no_rail():
    """A thousand samples a second of a unit that is busy for 15 of every 20 ms of load."""
    t = np.arange(0, loads.END, 0.001)
    busy = loads.loaded(t) & (np.floor(t * 1000) % 20 < 15)
    unit = Level("DPU", EPOCH_NS + np.rint(t * SECOND).astype(np.int64), busy.astype(np.float64))
    found = align(meter(-42, 0.5), unit, PATTERN)

    assert abs(error_ns(found, -42)) < 50 * MS


@given(st.integers(0, 2**32 - 1), st.integers(3, 20), st.integers(25, 60))
def test_correlations_are_pearsons(seed, k, n):
    draw = np.random.default_rng(seed)
    among, template = draw.standard_normal(n), draw.standard_normal(k)
    expected = [np.corrcoef(among[i : i + k], template)[0, 1] for i in range(n - k + 1)]

    assert correlations(among, template) == pytest.approx(expected, abs=1e-9)


def test_where_readings_do_not_vary_nothing_correlates():
    among = np.concatenate([np.full(20, 5.0), np.arange(10.0), np.full(20, 5.0)])
    scores = correlations(among, np.arange(10.0))

    assert scores[20] == pytest.approx(1.0)
    assert scores[0] == scores[-1] == 0.0


@pytest.mark.shared
@pytest.mark.parametrize("trace", ["CNN", "CNV"])
def test_a_real_trace_is_found_again_by_a_slow_meter_at_the_boards_input(shared_dir, trace):
    rail = read_readings(
        shared_dir / f"traces/kv260_ina260_pm_{trace}_int8.csv",
        parse_columns("time=tiempo,power=potencia,unit=mW"),
    )
    level = Level("power.som", EPOCH_NS + rail.t_ns, rail.watts)
    own = np.arange(0, 0.96 * rail.t_ns[-1], 0.5 * SECOND).astype(np.int64)
    shift_ns = 370 * MS
    draw = np.random.default_rng(2)
    watts = 3 + 1.2 * np.interp(own + shift_ns, rail.t_ns, rail.watts) + 0.02 * draw.standard_normal(own.size)
    span = Window(EPOCH_NS + SECOND, EPOCH_NS + int(rail.t_ns[-1]) - 2 * SECOND)
    found = align(Readings(own, watts), level, span)

    assert found.offset_ns - EPOCH_NS == pytest.approx(shift_ns, abs=120 * MS)
