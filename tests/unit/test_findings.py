"""Findings: each says what was seen in figures, and stays silent where there is nothing to say."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.figures import Figure, Quality
from telemetry.figures.busy import LatenessByState
from telemetry.figures.figure import figure
from telemetry.figures.suspicion import Stuck
from telemetry.findings import Finding, conditions, counting, runs, sampling
from telemetry.model import Window

MS = 1_000_000
SECOND = 1000 * MS


def quality(samples: int = 1000, late_p99_ns: int | None = 0) -> Quality:
    return Quality(samples, 100.0, late_p99_ns, 10 * MS, 1.0)


def of(name: str, value: float) -> Figure:
    return figure(name, value, quality())


def test_counts_of_runner_and_compute_unit_are_held_against_each_other() -> None:
    assert counting.counts_disagree(30, 9, of("cu_runs", 270)) is None
    found = counting.counts_disagree(30, 9, of("cu_runs", 269))
    assert found is not None
    assert (found.code, "30 executions of 9" in found.text, "269 runs" in found.text) == ("counts-disagree", True, True)


def test_executions_in_flight_at_the_edges_are_allowed_for() -> None:
    assert counting.counts_disagree(30, 9, of("cu_runs", 279), in_flight=1) is None
    assert counting.counts_disagree(30, 9, of("cu_runs", 280), in_flight=1) is not None


def test_frames_of_threads_agree_with_a_rate_of_six_digits() -> None:
    assert counting.frames_disagree(37711, 628.476, 60.0038) is None
    found = counting.frames_disagree(37711 - 18855, 628.476, 60.0038)
    assert found is not None and found.code == "frames-disagree"


def test_traffic_below_what_instructions_move_is_told() -> None:
    assert counting.traffic_below_static(66.3e6, 66.2e6) is None
    assert counting.traffic_below_static(66.1e6, 66.2e6) is None
    found = counting.traffic_below_static(40e6, 66.2e6)
    assert found is not None and "40.000 MB" in found.text


def test_few_samples_and_late_ticks_are_told() -> None:
    assert sampling.few_samples("power", quality(100)) is None
    few = sampling.few_samples("power", quality(99))
    assert few is not None and "99 readings" in few.text
    assert sampling.late_ticks("cu", quality(late_p99_ns=MS), MS) is None
    assert sampling.late_ticks("cu", quality(late_p99_ns=None), MS) is None
    late = sampling.late_ticks("cu", quality(late_p99_ns=2_500_000), MS)
    assert late is not None and "2.50 ms late" in late.text


@pytest.mark.parametrize(
    ("busy", "idle", "told"), [(0, MS, False), (0, 3 * MS, True), (3 * MS, 0, True), (None, 9 * MS, False)]
)
def test_lateness_that_depends_on_the_unit_is_told(busy: int | None, idle: int | None, told: bool) -> None:
    assert (sampling.lateness_leans(LatenessByState(busy, idle)) is not None) == told


def test_an_observer_that_costs_more_than_5_percent_of_a_core_is_told() -> None:
    parts = [of("observer_seconds", 0.3), of("observer_seconds", 0.2)]
    assert sampling.observer_costly(parts, 10.0) is None
    found = sampling.observer_costly([*parts, of("observer_seconds", 0.1)], 10.0)
    assert found is not None and "6.0% of a core" in found.text


def test_estimates_of_one_share_that_differ_are_told() -> None:
    assert sampling.estimates_apart("system_share", 0.2534, 0.2533, "Equation 21") is None
    assert sampling.estimates_apart("system_share", 0.2534, 0.2500, "Equation 21") is not None


def test_work_during_idle_is_told() -> None:
    assert conditions.idle_not_idle(of("busy_share", 0.0005), of("system_share", 0.05), 4) is None
    assert conditions.idle_not_idle(None, None, 4) is None
    found = conditions.idle_not_idle(of("busy_share", 0.02), of("system_share", 0.3), 4)
    assert found is not None
    assert "busy for 2.00%" in found.text and "1.20 of 4 cores" in found.text


def test_idle_power_that_changed_across_a_run_is_told() -> None:
    assert conditions.idle_drift(5.03, 5.04) is None
    found = conditions.idle_drift(5.03, 5.22)
    assert found is not None and "+3.8%" in found.text


def test_a_board_that_warms_over_the_runs_is_told() -> None:
    assert conditions.warming({"ps": [45.0, 47.0], "pl": [44.0]}) is None
    assert conditions.warming({}) is None
    found = conditions.warming({"ps": [45.0, 47.0], "pl": [44.0, 48.0, 50.5]})
    assert found is not None and "pl went from 44.0 to 50.5" in found.text


def test_faults_of_sensors_are_errors_with_their_figures() -> None:
    assert conditions.stuck_sensor("power.som", None) is None
    assert conditions.lost_interrupt("DPU", []) is None
    assert conditions.clocks_changed({}, None) is None
    stuck = conditions.stuck_sensor("power.som", Stuck(Window(0, 3 * SECOND), 8.73, 0.1, 0.95))
    lost = conditions.lost_interrupt("DPU", [Window(0, 503 * MS)])
    slow = conditions.clocks_changed({"cpu0": (6e8, 1.333e9), "cpu1": (1.2e9, 1.333e9)}, "ondemand")
    assert stuck is not None and lost is not None and slow is not None
    assert (stuck.severity, lost.severity, slow.severity) == ("error", "error", "warning")
    assert "8.73 W for 3.0 s" in stuck.text and "503 ms" in lost.text
    assert "cpu0 ran between 600 and 1333 MHz in the run under the governor ondemand" in slow.text


def test_a_clock_that_falls_while_held_or_hot_is_throttled() -> None:
    fell = {"cpu0": (6e8, 1.333e9)}
    assert conditions.throttled({}, "performance", {"ps": 95.0}) is None
    assert conditions.throttled(fell, "ondemand", {"ps": 60.0}) is None
    held = conditions.throttled(fell, "performance", {})
    hot = conditions.throttled(fell, "ondemand", {"ps": 60.0, "pl": 91.2})
    assert held is not None and hot is not None
    assert held.text == "cpu0 fell from 1333 to 600 MHz in the run under the governor performance"
    assert hot.text.endswith("under the governor ondemand, pl at 91 degrees Celsius")


def test_a_warm_up_in_the_first_run_is_told() -> None:
    assert runs.slow_first_run("throughput", [48.0, 49.10, 49.12]) is None
    assert runs.slow_first_run("throughput", [49.05, 49.10, 49.12, 49.09, 49.11]) is None
    found = runs.slow_first_run("throughput", [48.0, 49.10, 49.12, 49.09, 49.11])
    assert found is not None and "-2.25%" in found.text


def test_a_trend_over_runs_is_told() -> None:
    assert runs.drift_over_runs("power", [8.73, 8.74, 8.72, 8.74, 8.73]) is None
    assert runs.drift_over_runs("power", [8.6, 8.7, 8.8]) is None
    found = runs.drift_over_runs("power", [8.60, 8.65, 8.71, 8.75, 8.80])
    assert found is not None and "+2.30%" in found.text


def test_one_run_apart_from_the_others_is_told_by_its_number() -> None:
    assert runs.outlier_run("power", [8.73, 8.74, 8.72, 8.74, 8.73]) is None
    assert runs.outlier_run("power", [8.73, 8.74, 9.72]) is None
    found = runs.outlier_run("power", [8.73, 8.74, 8.72, 9.20, 8.73])
    assert found is not None and "run 4" in found.text


@pytest.mark.parametrize("check", [runs.slow_first_run, runs.drift_over_runs, runs.outlier_run])
def test_equal_runs_have_nothing_to_tell(check: object) -> None:
    assert callable(check)
    assert check("power", [5.0] * 6) is None


def test_checks_of_run_values_seldom_cry_wolf() -> None:
    draw = np.random.default_rng(3)
    checks = (runs.slow_first_run, runs.drift_over_runs, runs.outlier_run)
    alarms = [
        check("power", list(8.7 * (1 + 0.001 * draw.standard_normal(5)))) for check in checks for _ in range(1000)
    ]
    assert sum(isinstance(alarm, Finding) for alarm in alarms) <= 30
