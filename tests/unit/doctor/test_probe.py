"""The averaging time of a sensor from its answer to a load that goes on and off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.errors import NotCovered
from telemetry.model import Column, Series, Stream
from telemetry.probe import averaging_time

MS = 1_000_000
CU = "DPU_1"


def observed(averaging_ms, load_watts=4.0, noise_watts=0.008, seconds=6.0, seed=0, cycles_ms=(90, 110)):
    """A load of about `cycles_ms` on and off, as readings and states at 1 kHz show it."""
    draw = np.random.default_rng(seed)
    edges = np.cumsum(draw.uniform(*cycles_ms, int(seconds * 1e3 / np.mean(cycles_ms)) // 2 * 2 + 1)) * MS
    on = np.arange(edges.size - 1) % 2 == 0
    used = np.concatenate([[0.0], np.cumsum(np.diff(edges) * np.where(on, 5 + load_watts, 5.0))])
    before = edges[0]

    def joules(t):
        return np.where(t < before, (t - before) * 5.0, np.interp(t, edges, used))

    t = np.arange(0, edges[-1], MS) + draw.uniform(0, MS / 2, int(np.ceil(edges[-1] / MS)))
    width = averaging_ms * MS
    phase = draw.uniform(0, width)
    ends = np.floor((t - phase) / width) * width + phase
    conversion = np.round((t - phase) // width).astype(int)
    noise = draw.normal(0, noise_watts, conversion.max() - conversion.min() + 1)[conversion - conversion.min()]
    watts = np.round(((joules(ends) - joules(ends - width)) / width + noise) / 0.01) * 0.01
    index = np.searchsorted(edges, t, side="right") - 1
    status = np.where((index >= 0) & (index % 2 == 0), 0x1, 0x4)
    late = np.zeros(t.size, np.int64)
    times = t.astype(np.int64)
    power = Series(
        Stream("power.som", "hwmon-power", MS, (Column("watts", "W", "gauge"),)), times, late, {"watts": watts}
    )
    columns = (Column(f"status.{CU}", "1", "state"), Column(f"usage.{CU}", "1", "counter"))
    values = {f"status.{CU}": status, f"usage.{CU}": np.maximum(index, 0) // 2}
    return power, Series(Stream("cu", "xrt-cu", MS, columns), times, late, values)


@pytest.mark.parametrize("averaging_ms", [1.1, 8.8, 35.2])
def test_the_averaging_time_of_both_drivers_is_found(averaging_ms):
    found = averaging_time(*observed(averaging_ms), CU)
    assert found.seconds == pytest.approx(averaging_ms / 1e3, rel=0.05, abs=2e-4)
    assert found.load_watts == pytest.approx(4.0, rel=0.02)
    assert found.explained > 0.85


@given(st.floats(2, 40), st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_any_averaging_time_is_found_within_a_tenth_and_what_sampling_at_1_khz_leaves_open(averaging_ms, seed):
    found = averaging_time(*observed(averaging_ms, seed=seed), CU)
    assert found.seconds == pytest.approx(averaging_ms / 1e3, rel=0.1, abs=3e-4)


def test_a_load_that_does_not_show_is_refused():
    with pytest.raises(NotCovered, match="the load explains"):
        averaging_time(*observed(8.8, load_watts=0.001), CU)


def test_a_load_that_never_changes_is_refused():
    with pytest.raises(NotCovered, match="on and off"):
        averaging_time(*observed(8.8, cycles_ms=(2000, 3000)), CU)
