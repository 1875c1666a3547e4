"""`kvbench doctor` as a user runs it: on the virtual board, with things missing, and on no board at all."""

from __future__ import annotations

import json
import subprocess

import jsonschema
import pytest

from kv260_runtime.errors import ExitCode
from tests.system.harness import command


def doctor(*words):
    done = subprocess.run(command("doctor", *words, "--json"), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert "Traceback" not in done.stderr, done.stderr
    told = json.loads(done.stdout)
    return done.returncode, told, {check["name"]: check for check in told["checks"]}


@pytest.fixture(scope="module")
def examined(consolidated):
    """Everything, with the demo model as load."""
    return doctor("--board", "virtual", "--seconds", "2", consolidated)


def test_all_is_well_on_the_virtual_board(examined, repository):
    code, told, checks = examined
    jsonschema.validate(told, json.loads((repository / "docs/schemas/doctor.schema.json").read_text()))
    assert code == ExitCode.OK
    assert told["possible"] is True
    wanted = {"board", "module xir", "overlay", "dpu", "model c2f_consolidated_512.xmodel", "sensor cu", "sensor apm"}
    assert {name: checks[name]["status"] for name in wanted} == dict.fromkeys(wanted, "ok")


def test_the_averaging_time_of_the_emulated_sensor_is_measured(examined):
    check = examined[2]["averaging time power.som"]
    assert check["values"]["seconds"] == pytest.approx(8.8e-3, rel=0.15)
    assert check["values"]["load_watts"] == pytest.approx(4.27, rel=0.15)


def test_the_rate_of_the_sampler_is_measured(examined):
    check = examined[2]["sampling cu"]
    assert 500 < check["values"]["hertz"] < 1010


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [
        ("apm=absent", "sensor apm", "no performance monitor"),
        ("power=absent", "sensor hwmon-power", "no hwmon chip"),
    ],
)
def test_a_missing_sensor_is_named_with_its_reason_and_measuring_stays_possible(option, name, said):
    code, _, checks = doctor("--board", "virtual", "--board-option", option, "--seconds", "0")
    assert code == ExitCode.OK
    assert (checks[name]["status"], said in checks[name]["text"]) == ("absent", True)
    assert checks[name]["remedy"]


def test_a_model_for_another_dpu_prevents_measuring(consolidated):
    words = ("--board", "virtual", "--board-option", "dpu=2.5", "--seconds", "0")
    code, told, checks = doctor(*words, consolidated)
    assert code == ExitCode.UNAVAILABLE
    assert told["possible"] is False
    assert checks[f"model {consolidated.name}"]["status"] == "fail"


def test_a_machine_that_is_no_board_is_told_what_it_can_do():
    code, _, checks = doctor("--seconds", "0")
    if checks["board"]["status"] == "ok":
        pytest.skip("this machine is a board with a profile")
    assert code == ExitCode.UNAVAILABLE
    assert "--board virtual" in checks["board"]["remedy"]
