"""`kvbench external`, and what `kvbench profile` does about a meter."""

from __future__ import annotations

import io
import json

import jsonschema
import pytest

from kv260_runtime.cli.main import build_parser, main
from kv260_runtime.cli.meter import MeterPlan, plan
from kv260_runtime.errors import ExitCode
from kv260_runtime.external.columns import parse_columns
from kv260_runtime.profile.evaluate import evaluate
from telemetry.session.reader import SessionReader
from tests.unit.external.loads import SECOND, meter
from tests.unit.external.session_of_loads import write_session
from tests.unit.external.test_pulse import StepClock

BOUNDARY = ("--boundary", "12 V input")


def write_meter(path):
    readings = meter(-20, 0.5)
    lines = [f"{t / SECOND:.3f};{1000 * watts:.1f}" for t, watts in zip(readings.t_ns, readings.watts, strict=True)]
    path.write_text("\n".join(["s;mW", *lines]))
    return path


@pytest.fixture
def session(tmp_path):
    return write_session(tmp_path / "s.kvs")


def stream_names(session):
    with SessionReader(session) as reader:
        return [stream.name for stream in reader.streams()]


@pytest.fixture(scope="module")
def schema(repository):
    return json.loads((repository / "docs/schemas/external.schema.json").read_text())


def test_a_file_is_added_and_a_replay_agrees(session, tmp_path, capsys, schema):
    csv = write_meter(tmp_path / "meter.csv")
    words = ["external", str(session), "--csv", str(csv), "--columns", "time=s,power=mW,unit=mW", *BOUNDARY, "--json"]

    assert main(words) == ExitCode.OK
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, schema)
    assert told["rail"] == "power.12-v-input"
    assert told["readings"] == csv.read_text().count("\n")
    assert told["correlation"] > 0.95
    assert main(["replay", str(session)]) == ExitCode.OK


def test_typed_readings_are_added(session, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("13.8 13.9 14.0\n13.9\n\n"))

    assert main(["external", str(session), "--typed", *BOUNDARY]) == ExitCode.OK
    captured = capsys.readouterr()
    assert "rail: power.12-v-input\nreadings: 4\n" in captured.out
    assert captured.err.count("readings in W, empty to skip") == 3
    assert evaluate(session).models[0].summaries["power.12-v-input"].values == pytest.approx((13.9, 13.9))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("trace", "joules", "seconds", "above_idle"), [("CNN", 62.7, 10.5, 9.8), ("CNV", 48.8, 7.4, 11.8)]
)
def test_the_run_of_a_real_trace_is_found_without_a_session(
    shared_dir, capsys, schema, trace, joules, seconds, above_idle
):
    csv = shared_dir / f"traces/kv260_ina260_pm_{trace}_int8.csv"
    words = ["external", "--csv", str(csv), "--columns", "time=tiempo,power=potencia,unit=mW", "--json"]

    assert main(words) == ExitCode.OK
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, schema)
    assert told["seconds"] == pytest.approx(seconds, rel=0.02)
    assert told["joules"] == pytest.approx(joules, rel=0.02)
    assert told["joules_above_idle"] == pytest.approx(above_idle, rel=0.04)


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["s.kvs", "--csv", "meter.csv"], ExitCode.USAGE, "--boundary '12 V input'"),
        (["--typed"], ExitCode.USAGE, "name it"),
        (["s.kvs", "--csv", "gone.csv", *BOUNDARY], ExitCode.NO_INPUT, "gone.csv: cannot be read"),
        (["s.kvs", "--csv", "meter.csv", *BOUNDARY], ExitCode.BAD_DATA, "no column 'time'"),
        (["s.kvs", "--csv", "bad.csv", *BOUNDARY], ExitCode.BAD_DATA, "bad.csv:3: power is 'x'"),
        (["--csv", "flat.csv"], ExitCode.NOT_MEASURED, "shows no"),
        (["s.kvs", "--csv", "flat.csv", *BOUNDARY], ExitCode.BAD_DATA, "cannot be aligned"),
        (["s.kvs", "--csv", "meter.csv", "--columns", "unit=J", *BOUNDARY], ExitCode.USAGE, "unit is one of W"),
        (["s.kvs", "--typed", *BOUNDARY], ExitCode.USAGE, "no reading was typed in"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_changes_nothing(
    session, tmp_path, capsys, monkeypatch, words, code, complaint
):
    write_meter(tmp_path / "meter.csv")
    (tmp_path / "bad.csv").write_text("time,power\n0,5\n1,x\n")
    (tmp_path / "flat.csv").write_text("time,power\n" + "".join(f"{i},9.0\n" for i in range(200)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n\n"))

    assert main(["external", *words]) == code
    assert complaint in capsys.readouterr().err.splitlines()[-1]
    assert stream_names(session) == ["power.som"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--external", "m.csv"], "--external-boundary"),
        (["--external-prompt", "10"], "--external-boundary"),
        (["--external", "m.csv", "--external-prompt", "10", "--external-boundary", "x"], "give one of them"),
    ],
)
def test_a_profile_with_half_a_meter_does_not_start(capsys, words, complaint):
    assert main(["profile", "model.xmodel", *words]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def planned(*words):
    arguments = build_parser("profile").parse_args(["profile", "model.xmodel", *words])
    return plan(arguments, StepClock())


def test_a_profile_adds_the_meters_file_when_its_runs_are_over(session, tmp_path):
    csv = write_meter(tmp_path / "meter.csv")
    made = planned(
        "--external", str(csv), "--external-columns", "time=s,power=mW,unit=mW", "--external-boundary", "12 V input"
    )

    assert made.attach(session, print) is None
    assert stream_names(session) == ["power.som", "power.12-v-input"]


def test_a_meters_file_that_fails_leaves_the_session_standing_and_says_how_to_go_on(session, tmp_path):
    trouble = MeterPlan("12 V input", tmp_path / "gone.csv", parse_columns("time=s,power=mW")).attach(session, print)

    assert "gone.csv: cannot be read" in str(trouble) and f"kvbench external {session}" in str(trouble)
    assert trouble.exit_code == ExitCode.NO_INPUT
    assert stream_names(session) == ["power.som"]


def test_a_profile_without_a_meter_does_nothing_about_one(session):
    made = planned()
    made.tick("running")

    assert made.attach(session, print) is None
    assert stream_names(session) == ["power.som"]


@pytest.mark.parametrize("line", ["1e13;5", "999999;1e12", "999999;inf"])
def test_an_absurd_line_leaves_the_session_as_it_was(session, tmp_path, capsys, line):
    csv = write_meter(tmp_path / "meter.csv")
    csv.write_text(f"{csv.read_text()}\n{line}\n")
    before = session.read_bytes()
    words = ["external", str(session), "--csv", str(csv), "--columns", "time=s,power=mW,unit=mW", *BOUNDARY]

    assert main(words) == ExitCode.BAD_DATA
    assert f"meter.csv:{csv.read_text().count(chr(10))}: " in capsys.readouterr().err
    assert session.read_bytes() == before


def test_an_absurd_typed_reading_leaves_the_session_as_it_was(session, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("1e300\n"))
    before = session.read_bytes()

    assert main(["external", str(session), "--typed", *BOUNDARY]) == ExitCode.USAGE
    assert session.read_bytes() == before


def test_a_meter_of_zero_watts_is_added_without_executions_per_joule(session, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("0\n0\n\n"))

    assert main(["external", str(session), "--typed", *BOUNDARY]) == ExitCode.OK
    summaries = evaluate(session).models[0].summaries
    assert "power.12-v-input" in summaries and "throughput_per_watt.12-v-input" not in summaries
