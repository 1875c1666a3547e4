"""What a screen shows is what the samples say; what they do not say is absent, with its reason."""

from __future__ import annotations

import numpy as np
import pytest

from kv260_runtime.top.view import TREND, view
from telemetry.model import Series
from telemetry.service.history import History
from tests.unit.daemon.frames import APM, CPU, CU, MS, POWER, RAPL, SECOND, TEMPERATURE, WRAP

SECONDS = 10


def history(stream, t_ns, **values):
    times = np.asarray(t_ns, np.int64)
    columns = {column.name: np.asarray(values[column.name.replace(".", "_")]) for column in stream.columns}
    kept = History(stream, 120 * SECOND)
    kept.add(Series(stream, times, np.full(times.size, 50_000, np.int64), columns))
    return kept


def compute_unit(busy_ms=15, period_ms=20):
    t = np.arange(0, SECONDS * SECOND, MS)
    phase = t % (period_ms * MS)
    runs = t // (period_ms * MS) + 1
    return history(CU, t, status_DPU_1=np.where(phase < busy_ms * MS, 0x1, 0x4), usage_DPU_1=runs, completed_DPU_1=runs)


def rail(watts):
    return history(POWER, np.arange(len(watts)) * 10 * MS, watts=watts)


def test_busy_share_and_runs_are_those_of_the_last_second():
    found = view({"cu": compute_unit()}, {})
    assert found.busy["DPU_1"] == pytest.approx(0.75, abs=0.005)
    assert found.runs_per_second["DPU_1"] == pytest.approx(50, abs=1.5)
    assert found.sampler["cu"].hertz == pytest.approx(1000, rel=0.01)
    assert found.sampler["cu"].late_p99_seconds == pytest.approx(50e-6)


def test_a_rail_shows_its_mean_and_the_trend_of_whole_seconds():
    found = view({"power.som": rail(np.repeat([5.0, 9.0, 7.0], 100))}, {})
    # The second begins inside the line from 9 to 7 W between two readings.
    assert found.watts["som"] == pytest.approx(7.0, abs=2 * 0.01 / 2 + 1e-9)
    assert found.trends["som"] == pytest.approx((5.0, 9.0, 7.0))


def test_a_trend_is_no_longer_than_a_minute():
    assert len(view({"power.som": rail(np.full(9000, 5.0))}, {}).trends["som"]) == TREND


def test_an_energy_counter_is_a_rail_too():
    t = np.arange(0, SECONDS * SECOND, 10 * MS)
    found = view({"energy.package-0": history(RAPL, t, joules=12.5 * t / SECOND % 100)}, {})
    assert found.watts["package-0"] == pytest.approx(12.5)


def test_bytes_are_unwrapped_and_told_per_second():
    t = np.arange(0, SECONDS * SECOND, 100 * MS)
    counted = (np.arange(t.size, dtype=np.int64) * 90_000_000 + 4_200_000_000) % WRAP
    clock = np.arange(t.size, dtype=np.int64) * 53_333_333 % WRAP
    found = view({"apm": history(APM, t, read_slot3=counted, write_slot3=counted * 0, clock=clock)}, {})
    assert found.bytes_per_second == pytest.approx({"read.slot3": 900e6, "write.slot3": 0.0})


def test_cores_are_known_from_two_samples_on():
    one = history(CPU, [0], busy_cpu0=[10.0], total_cpu0=[100.0])
    two = history(CPU, [0, SECOND], busy_cpu0=[10.0, 10.3], total_cpu0=[100.0, 101.0])
    assert view({"cpu": one}, {}).cores == {}
    assert view({"cpu": two}, {}).cores == pytest.approx({"cpu0": 0.3})


def test_a_temperature_is_the_latest():
    found = view({"temperature": history(TEMPERATURE, [0, SECOND], celsius_ps=[40.0, 41.5])}, {})
    assert found.celsius == {"ps": 41.5}


def test_what_is_missing_or_not_covered_is_absent_with_its_reason():
    t = np.concatenate([np.arange(0, SECOND, MS), np.arange(3 * SECOND, 3 * SECOND + 50 * MS, MS)])
    unit = history(CU, t, status_DPU_1=np.full(t.size, 0x4), usage_DPU_1=t * 0, completed_DPU_1=t * 0)
    found = view({"cu": unit, "power.som": History(POWER, SECOND)}, {"apm": "no monitor"})
    assert found.absent["apm"] == "no monitor"
    assert "covers" in found.absent["DPU_1"]
    assert found.busy == {}
    assert found.watts == {}


def test_nothing_sampled_yet_is_an_empty_view():
    found = view({}, {})
    assert (found.busy, found.cores, found.watts, found.bytes_per_second, found.absent) == ({}, {}, {}, {}, {})
