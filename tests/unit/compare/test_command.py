"""`kvbench compare` from session files to what is printed and the exit code."""

from __future__ import annotations

import json

import jsonschema
import pytest

from kv260_runtime.cli.main import main
from kv260_runtime.errors import ExitCode
from tests.unit.profile import synthetic

FACTORS = {"a": [1.0, 1.002, 0.999], "b": [1.03, 1.033, 1.028]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`two.kvs` with models a and b; `a.kvs` and `b.kvs` with one each, made on two boots of one board."""
    made = tmp_path_factory.mktemp("sessions")
    synthetic.write_session(
        made / "two.kvs", synthetic.Truth(), runs=3, run_seconds=4, models=("a", "b"), factors=FACTORS
    )
    for name in "ab":
        synthetic.write_session(
            made / f"{name}.kvs",
            synthetic.Truth(),
            runs=3,
            run_seconds=4,
            models=(name,),
            factors=FACTORS,
            identity={"profile": "kv260", "label": "KV260", "boot_id": name, "emulated": name == "emulated"},
        )
    return made


def told(capsys):
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def schema(repository):
    return json.loads((repository / "docs/schemas/compare.schema.json").read_text())


def test_one_session_gates_its_second_model(folder, capsys, schema):
    code = main(
        ["compare", str(folder / "two.kvs"), "--fail-on", "energy:+1%", "--fail-on", "throughput:-1%", "--json"]
    )
    result = told(capsys)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(result, schema)

    assert code == ExitCode.REGRESSION == result["comparison"]["exit_code"]
    assert [one["answer"] for one in result["comparison"]["verdicts"]] == ["regression", "pass"]
    ratio = result["comparison"]["metrics"]["energy_per_execution.som"]["ratio"]
    assert ratio["low"] < 1.03 < ratio["high"]
    assert result["comparison"]["paired"] is True


def test_two_sessions_of_one_board_come_to_the_same_with_a_wider_interval(folder, capsys, schema):
    words = ["compare", str(folder / "a.kvs"), f"{folder / 'b.kvs'}:b", "--fail-on", "energy:+1%"]
    assert main([*words, "--same-board", "--json"]) == ExitCode.REGRESSION
    narrow = told(capsys)
    assert main([*words, "--session-spread", "3", "--json"]) == ExitCode.INCONCLUSIVE
    wide = told(capsys)

    jsonschema.validate(wide, schema)
    bounds = [one["comparison"]["metrics"]["energy_per_execution.som"]["ratio"] for one in (narrow, wide)]
    assert bounds[0]["value"] == pytest.approx(bounds[1]["value"])
    assert bounds[1]["high"] - bounds[1]["low"] > 4 * (bounds[0]["high"] - bounds[0]["low"])


def test_the_text_names_both_sides_the_method_and_the_answer_in_120_columns(folder, capsys):
    assert main(["compare", str(folder / "two.kvs"), "--fail-on", "energy:+5%", "--plan", "power:2%"]) == ExitCode.OK
    text = capsys.readouterr().out

    assert f"A: a in {folder / 'two.kvs'} (3 runs)" in text.replace("\n  ", " ")
    assert "in pairs" in text
    assert "pass: energy_per_execution.som +5 %: +3.0" in text
    assert "--duration  --runs" in text
    assert max(map(len, text.splitlines())) <= 120


def test_one_model_alone_can_be_planned_for(folder, capsys, schema):
    assert main(["compare", f"{folder / 'two.kvs'}:a", "--plan", "energy:2%", "--json"]) == ExitCode.OK
    result = told(capsys)

    jsonschema.validate(result, schema)
    assert result["comparison"] is None
    assert result["plans"][0]["metric"] == "energy_per_execution.som"


def test_the_only_model_of_a_session_is_planned_for_without_being_named(folder, capsys):
    assert main(["compare", str(folder / "a.kvs"), "--plan", "energy:2%"]) == ExitCode.OK
    assert "--duration" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["gone.kvs"], ExitCode.NO_INPUT, "no session"),
        (["two.kvs", "--fail-on", "energy:1%"], ExitCode.USAGE, "is not METRIC:+X%"),
        (["two.kvs", "--fail-on", "enrgy:+1%"], ExitCode.USAGE, "did you mean 'energy'"),
        (["two.kvs", "--fail-on", "latency.p50000:+1%"], ExitCode.NOT_MEASURED, "not measured on both sides"),
        (["two.kvs", "--plan", "energy"], ExitCode.USAGE, "write METRIC:X%"),
        (["a.kvs"], ExitCode.USAGE, "has 1 models"),
        (["two.kvs:typo"], ExitCode.USAGE, "compare needs two sides"),
        (["two.kvs:typo", "--plan", "energy:2%"], ExitCode.USAGE, "no model 'typo'; it has: a, b"),
        (["two.kvs", "two.kvs"], ExitCode.USAGE, "compared with itself"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(folder, capsys, monkeypatch, words, code, complaint):
    monkeypatch.chdir(folder)

    assert main(["compare", *words]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert complaint in captured.err and captured.err.count("\n") == 1
