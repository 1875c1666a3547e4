"""What the doctor says of the averaging time it measured, against the one the profile states."""

from __future__ import annotations

import dataclasses

import pytest

from kv260_runtime.doctor.averaging import check_averaging
from kv260_runtime.doctor.recording import Recorded
from telemetry.protocol import RecorderReady
from tests.unit.doctor.test_probe import observed

READY = RecorderReady(["cu", "power.som"], {}, "SCHED_FIFO 10", 1)


def recorded(stated_ms, **load):
    power, cu = observed(8.8, **load)
    attributes = {} if stated_ms is None else {"averaging_ns": str(round(stated_ms * 1e6))}
    stream = dataclasses.replace(power.stream, attributes=attributes)
    return Recorded(READY, {"cu": cu, "power.som": dataclasses.replace(power, stream=stream)})


@pytest.mark.parametrize(
    ("stated_ms", "status", "said"),
    [(8.8, "ok", "8.8 ms stated by"), (35.2, "warn", "35.2 ms stated by"), (None, "warn", "the profile states none")],
)
def test_a_sensor_that_averages_otherwise_than_stated_is_a_warning_with_the_value_to_set(stated_ms, status, said):
    [check] = check_averaging(recorded(stated_ms))
    assert (check.name, check.status) == ("averaging time power.som", status)
    assert said in check.text
    assert check.values["seconds"] == pytest.approx(8.8e-3, rel=0.05)
    assert (status == "ok") == (check.remedy is None)
    if check.remedy is not None:
        assert "averaging_ms: 8." in check.remedy


def test_a_load_that_does_not_show_says_so():
    [check] = check_averaging(recorded(8.8, load_watts=0.001))
    assert check.status == "warn"
    assert "cannot be measured: the load explains" in check.text


@pytest.mark.parametrize(("kept", "lacking"), [("cu", "power rail"), ("power.som", "compute unit")])
def test_without_a_rail_or_a_compute_unit_there_is_nothing_to_measure(kept, lacking):
    found = recorded(8.8)
    [check] = check_averaging(Recorded(READY, {kept: found.series[kept]}))
    assert (check.status, check.text) == ("absent", f"no {lacking} to measure it with")
