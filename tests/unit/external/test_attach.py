"""A meter's file in a session: its own rail, its own boundary, Equation 25."""

from __future__ import annotations

import pytest

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.external.attach import attach_readings, attach_typed, rail_name, refresh_figures
from kv260_runtime.external.meter_file import Readings
from kv260_runtime.profile.evaluate import evaluate
from kv260_runtime.profile.replay import META_KEY, differences, figures_of
from telemetry.session.reader import SessionReader
from tests.unit.external import loads
from tests.unit.external.loads import SECOND, meter
from tests.unit.external.session_of_loads import EPOCH_NS, write_session

BOUNDARY = "12 V input"
BUSY_WATTS = 3 + 1.25 * (loads.IDLE_WATTS + loads.STEP_WATTS)
IDLE_WATTS = 3 + 1.25 * loads.IDLE_WATTS


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """With a meter of two readings a second whose clock began 33 s before the session's."""
    path = write_session(tmp_path_factory.mktemp("session") / "s.kvs")
    attach_readings(path, meter(-33.3, 0.5, noise=0.02), "meter.csv", BOUNDARY)
    return path


@pytest.fixture(scope="module")
def summaries(session):
    return evaluate(session).models[0].summaries


def test_the_meters_power_and_energy_are_found_at_its_own_boundary(summaries):
    assert summaries["power.12-v-input"].mean == pytest.approx(BUSY_WATTS, rel=1e-3)
    energy = summaries["energy_per_execution.12-v-input"]
    assert energy.mean == pytest.approx(BUSY_WATTS * 0.02, rel=1e-3)
    assert energy.source == "c2fdeploy.txt, Eq. 25"


def test_equation_25_is_mean_power_over_throughput(summaries):
    for power, energy, rate in zip(
        summaries["power.12-v-input"].values,
        summaries["energy_per_execution.12-v-input"].values,
        summaries["throughput"].values,
        strict=True,
    ):
        assert energy == pytest.approx(power / rate, rel=1e-12)


def test_idle_leaves_out_what_the_meter_smears(summaries):
    """An alignment that is off, or an idle that is not trimmed, would mix the step of 4.6 W into 3 s of idle."""
    assert summaries["idle_power.12-v-input"].mean == pytest.approx(IDLE_WATTS, rel=3e-3)
    above = summaries["energy_above_idle_per_execution.12-v-input"].mean
    assert above == pytest.approx((BUSY_WATTS - IDLE_WATTS) * 0.02, rel=6e-3)


def test_the_boards_rail_stays_what_it_was(summaries, tmp_path):
    alone = evaluate(write_session(tmp_path / "s.kvs")).models[0].summaries

    assert summaries["energy_per_execution.som"] == alone["energy_per_execution.som"]
    assert summaries["energy_per_execution.som"].source != "c2fdeploy.txt, Eq. 25"


def test_a_meter_of_unknown_gain_has_no_accuracy_and_one_of_known_gain_has(summaries, tmp_path):
    assert "no gain_u for power.12-v-input" in summaries["power.12-v-input"].accuracy_unknown
    path = write_session(tmp_path / "s.kvs")
    attach_readings(path, meter(-33.3, 0.5), "meter.csv", BOUNDARY, gain_u=0.005)
    known = evaluate(path).models[0].summaries["power.12-v-input"].accuracy

    assert {part.name: part.standard / known.value for part in known.components}["gain"] == pytest.approx(0.005)


def test_the_session_tells_where_the_readings_come_from(session):
    with SessionReader(session) as reader:
        stream = next(one for one in reader.streams() if one.name == "power.12-v-input")

    assert stream.kind == "external"
    assert stream.attributes["boundary"] == BOUNDARY
    assert stream.attributes["source"] == "meter.csv"
    assert stream.attributes["aligned_by"] == "power.som"
    assert float(stream.attributes["correlation"]) > 0.95
    assert int(stream.attributes["offset_ns"]) == pytest.approx(EPOCH_NS - 33.3 * SECOND, abs=0.06 * SECOND)


def test_stored_figures_know_the_new_rail(tmp_path):
    path = write_session(tmp_path / "s.kvs")
    attach_readings(path, meter(-33.3, 0.5), "meter.csv", BOUNDARY)
    refresh_figures(path)
    with SessionReader(path) as reader:
        stored = reader.meta()[META_KEY]

    assert list(differences(stored, figures_of(evaluate(path)))) == []
    assert "power.12-v-input.mean" in stored["models"]["m"]


def test_a_rail_is_added_once(session):
    with pytest.raises(KvbenchError, match=r"has power\.12-v-input already") as caught:
        attach_readings(session, meter(-33.3, 0.5), "meter.csv", BOUNDARY)
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"pulse": False}, None),
        ({"rail": False}, "neither a power rail of the board nor a compute unit"),
    ],
)
def test_what_a_session_must_have_to_be_aligned_with(tmp_path, options, complaint):
    """Without a pulse all runs together are the pattern, which a whole file still has in one place only."""
    path = write_session(tmp_path / "s.kvs", **options)
    if complaint is None:
        attach_readings(path, meter(-33.3, 0.5), "meter.csv", BOUNDARY)
        return
    with pytest.raises(KvbenchError, match=complaint):
        attach_readings(path, meter(-33.3, 0.5), "meter.csv", BOUNDARY)


def test_a_file_of_another_day_is_refused_and_changes_nothing(tmp_path):
    path = write_session(tmp_path / "s.kvs")
    flat = meter(-33.3, 0.5)
    with pytest.raises(KvbenchError, match=r"meter\.csv cannot be aligned .* is not found") as caught:
        attach_readings(path, Readings(flat.t_ns, flat.watts * 0 + 9.0), "meter.csv", BOUNDARY)
    assert caught.value.exit_code == ExitCode.BAD_DATA
    with SessionReader(path) as reader:
        assert [stream.name for stream in reader.streams()] == ["power.som"]


def test_typed_readings_count_alike_in_the_run_they_lie_in(tmp_path):
    path = write_session(tmp_path / "s.kvs")
    first, second, _ = loads.RUNS
    readings = {EPOCH_NS + (first[0] + after) * SECOND: watts for after, watts in ((5, 13.8), (10, 13.9), (25, 14.0))}
    readings |= {EPOCH_NS + (second[0] + 15) * SECOND: 13.85, EPOCH_NS + (second[0] - 1) * SECOND: 9.3}
    attach_typed(path, readings, BOUNDARY)
    result = evaluate(path).models[0]

    assert result.summaries["power.12-v-input"].values == pytest.approx((13.9, 13.85))
    energy = result.summaries["energy_per_execution.12-v-input"]
    assert energy.values == pytest.approx((13.9 / 50, 13.85 / 50))
    assert energy.source == "c2fdeploy.txt, Eq. 25"
    assert "idle_power.12-v-input" not in result.summaries
    third = result.runs[2].measured
    assert "no reading of power.12-v-input was typed in" in third.absent["power.12-v-input"]
    assert not any("12-v-input" in finding.text for run in result.runs for finding in run.measured.findings)


@pytest.mark.parametrize(
    ("boundary", "name"), [("12 V input", "power.12-v-input"), ("Wall plug, 230 V~", "power.wall-plug-230-v")]
)
def test_the_boundary_stands_in_every_name(boundary, name):
    assert rail_name(boundary) == name


def test_a_boundary_that_says_nothing_is_refused():
    with pytest.raises(KvbenchError, match="say what the meter measures"):
        rail_name(" - ")
