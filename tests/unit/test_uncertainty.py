"""Uncertainty budgets against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.figures.within_run import BatchMeans
from telemetry.model import Stream
from telemetry.stats import repeatability
from telemetry.uncertainty import (
    CLOCK_U,
    Component,
    RailLevels,
    above_idle_components,
    accuracy,
    components_of,
    effective_degrees,
    rail_components,
)

INA260 = {"gain_u": "0.0015", "offset_u_watts": "0.0144", "resolution_watts": "0.01", "averaging_ns": "8800000"}
RUNS = [0.1776, 0.1779, 0.1778, 0.1780, 0.1777]


def rail(**attributes: str) -> Stream:
    return Stream("power.som", "hwmon-power", 10_000_000, (), attributes)


def test_welch_and_satterthwaite_by_hand() -> None:
    """Two uncertainties of 3 and 4 with 4 and 9 degrees: 25^2 / (81/4 + 256/9)."""
    assert effective_degrees([(3.0, 4.0), (4.0, 9.0)]) == pytest.approx(625 / (81 / 4 + 256 / 9))
    assert effective_degrees([(3.0, math.inf)]) == math.inf
    assert effective_degrees([(0.0, 4.0), (1.0, math.inf)]) == math.inf


def test_without_systematic_components_accuracy_is_repeatability() -> None:
    budget, runs = accuracy(RUNS), repeatability(RUNS)
    assert (budget.interval.low, budget.interval.high) == (pytest.approx(runs.low), pytest.approx(runs.high))
    assert budget.degrees == pytest.approx(4)


def test_the_budget_of_an_energy_adds_gain_offset_and_resolution() -> None:
    parts = {one.name: one.standard for one in rail_components(rail(**INA260), 0.1778, 8.735)}
    assert parts == {
        "gain": pytest.approx(0.1778 * 0.0015),
        "offset": pytest.approx(0.1778 * 0.0144 / 8.735),
        "resolution": pytest.approx(0.1778 * 0.01 / math.sqrt(12) / 8.735),
    }
    budget = accuracy(RUNS, rail_components(rail(**INA260), 0.1778, 8.735))
    spread = 1.5811388e-4 / math.sqrt(5)
    combined = math.sqrt(spread**2 + sum(part**2 for part in parts.values()))
    assert budget.combined == pytest.approx(combined, rel=1e-6)
    assert budget.degrees == pytest.approx(4 * (combined / spread) ** 4, rel=1e-6)
    assert sum(budget.share(component) for component in budget.components) == pytest.approx(1)


def test_the_delay_of_the_sensor_matters_at_both_edges_of_the_window() -> None:
    parts = rail_components(rail(**INA260), 1.0, 8.0, ripple_watts=1.6, seconds=10.0)
    assert parts[-1].name == "delay"
    assert parts[-1].standard == pytest.approx(math.sqrt(2) * 0.2 * 0.0088 / math.sqrt(12) / 10)


def test_the_offset_cancels_in_energy_above_idle_and_the_gain_counts_for_the_difference() -> None:
    parts = {one.name: one.standard for one in above_idle_components(rail(**INA260), 0.08, 3.7)}
    assert parts == {
        "gain": pytest.approx(0.08 * 0.0015),
        "resolution": pytest.approx(0.08 * 0.01 / math.sqrt(6) / 3.7),
    }


def test_a_rail_of_unknown_gain_has_no_accuracy() -> None:
    with pytest.raises(NotCovered, match=r"no gain_u for power\.som"):
        rail_components(rail(resolution_watts="0.01"), 1.0, 8.0)


def test_a_single_run_is_judged_by_its_batches_or_not_at_all() -> None:
    with pytest.raises(NotCovered, match="measure more runs"):
        accuracy([0.1778])
    budget = accuracy([0.1778], within=BatchMeans(8.735, 0.008735, 32, True))
    assert budget.combined == pytest.approx(0.1778 * 0.001)
    assert budget.degrees == pytest.approx(31)


def test_each_figure_gets_the_components_that_fit_its_name() -> None:
    som = RailLevels(rail(**INA260), watts=8.7, idle_watts=5.0, ripple_watts=1.6, seconds=60.0)
    assert [one.name for one in components_of("energy_per_execution.som", 0.2, som)] == [
        "gain",
        "offset",
        "resolution",
        "delay",
    ]
    above = components_of("energy_above_idle_per_execution.som", 0.1, som)
    assert [one.name for one in above] == ["gain", "resolution"]
    [clock] = components_of("throughput", 49.0, None)
    assert clock.standard == pytest.approx(49 * CLOCK_U)
    assert components_of("busy_share.DPU", 0.9, som) == []


def test_idle_power_refers_to_its_own_level() -> None:
    """An offset is a larger share of 5 W than of 8.7 W."""
    som = RailLevels(rail(**INA260), watts=8.7, idle_watts=5.0)
    parts = {one.name: one.standard for one in components_of("idle_power.som", 5.0, som)}
    assert parts["offset"] == pytest.approx(0.0144)


def test_a_figure_of_a_rail_that_nobody_knows_has_no_accuracy() -> None:
    with pytest.raises(NotCovered, match=r"no rail .* belongs to power\.som"):
        components_of("power.som", 8.7, None)
    with pytest.raises(NotCovered, match="relative to 0 W"):
        components_of("energy_above_idle_per_execution.som", 0.0, RailLevels(rail(**INA260), 5.0, 5.0))


@given(st.lists(st.floats(0.5, 2), min_size=2, max_size=8), st.floats(0, 0.1), st.floats(0, 0.1))
def test_more_systematic_error_never_narrows_the_interval(values: list[float], small: float, more: float) -> None:
    parts = [Component("gain", "B", u, math.inf, "") for u in (small, small + more)]
    narrow, wide = (accuracy(values, [part]) for part in parts)
    assert wide.combined >= narrow.combined
    assert wide.degrees >= narrow.degrees or wide.combined == narrow.combined
