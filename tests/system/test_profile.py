"""`kvbench profile` as a user runs it: results, absences, interruptions."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess

import jsonschema
import psutil
import pytest

from kv260_runtime.errors import ExitCode
from tests.system.harness import command, profile

SHORT = ("--runs", "1", "--smoke", "0", "--duration", "3", "--trim", "0.5", "--idle", "0.5")


@pytest.fixture(scope="module")
def profiled(tmp_path_factory, demo_models):
    """Both demo models under xdputil, two runs each."""
    folder = tmp_path_factory.mktemp("profiled")
    plan = ("--runs", "2", "--duration", "5", "--idle", "1", "--order", "abba")
    return profile(folder, *demo_models, *plan, board_options=("seed=3", f"log={folder / 'board.log'}"))


def test_the_result_keeps_to_its_schema_and_says_that_the_board_is_emulated(profiled, repository):
    schema = json.loads((repository / "docs/schemas/profile.schema.json").read_text())

    jsonschema.validate(profiled.result, schema)
    assert profiled.code == ExitCode.OK
    assert profiled.result["emulated"] is True
    assert profiled.result["identity"]["provenance"]["seed"] == 3


def test_the_session_names_board_overlay_dpu_and_models(profiled):
    identity = profiled.result["identity"]

    assert identity["dpu"]["architecture"] == "DPUCZDX8G_ISA1_B4096"
    assert identity["dpu"]["frequency_mhz"] == 300
    assert identity["overlay"]["xclbin_uuid"]
    assert identity["governor"] == "performance"
    assert all(len(model["sha256"]) == 64 for model in profiled.result["models"])


def test_one_file_is_left_and_it_is_a_sound_database(profiled):
    beside = {path.name for path in profiled.session.parent.iterdir()}

    assert beside == {"session.kvs", "board.log"}
    with sqlite3.connect(profiled.session) as session:
        assert session.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_consolidated_model_is_as_much_faster_as_in_the_paper(profiled):
    (fragmented, consolidated) = profiled.result["models"]
    ratio = consolidated["figures"]["throughput"]["mean"] / fragmented["figures"]["throughput"]["mean"]

    assert ratio == pytest.approx(95.5, rel=0.05)


def test_runs_were_made_in_the_order_asked_for(profiled):
    formal = sorted(
        (run["id"], model["name"])
        for model in profiled.result["models"]
        for run in model["runs"]
        if run["phase"] == "formal"
    )
    names = [name.removeprefix("c2f_").removesuffix("_512")[0] for _, name in formal]

    assert "".join(names) == "fccf"


def test_a_report_of_the_session_gives_the_same_figures(profiled):
    done = subprocess.run(
        command("report", profiled.session, "--format", "json"), capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout)["models"] == profiled.result["models"]


@pytest.mark.parametrize(
    ("option", "absent", "there"),
    [
        ("apm=absent", "bandwidth", "energy_per_execution.som"),
        ("power=absent", "power", "bandwidth.total"),
    ],
)
def test_a_board_without_a_sensor_gives_the_other_figures_and_says_why(option, absent, there, tmp_path, consolidated):
    profiled = profile(tmp_path, consolidated, *SHORT, board_options=(option,))

    assert profiled.code == ExitCode.OK
    assert profiled.model["kept_runs"] == 1
    assert there in profiled.model["figures"]
    assert absent in profiled.model["absent"]
    assert not any(name.startswith(absent) for name in profiled.model["figures"])
    assert profiled.result["missing_sensors"]


def test_one_dpu_subgraph_is_timed_for_the_number_of_executions_asked_for(tmp_path, consolidated):
    profiled = profile(tmp_path, consolidated, *SHORT, "--workload", "dpu", "--executions", "120")

    (run,) = profiled.runs(kept=True)
    assert run["figures"]["cu_runs.DPUCZDX8G_1"]["value"] == 120
    assert run["figures"]["latency_mean"]["value"] == pytest.approx(0.0215, rel=0.05)


def start(model, session, *words):
    """`kvbench profile` on the virtual board, not waited for."""
    return subprocess.Popen(
        command("profile", model, "--board", "virtual", "--out", session, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(running, text):
    """Read its progress until a line has `text`."""
    for line in running.stderr:
        if text in line:
            return
    raise AssertionError(f"it never said {text!r}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_and_keeps_what_was_measured(number, tmp_path, consolidated):
    session = tmp_path / "s.kvs"
    words = ("--runs", "9", "--smoke", "0", "--duration", "3", "--trim", "0.5", "--idle", "0.5", "--json")
    running = start(consolidated, session, *words)
    wait_for(running, "formal 1: kept")
    running.send_signal(number)
    printed, errors = running.communicate(timeout=60)
    result = json.loads(printed)

    assert running.returncode == ExitCode.INTERRUPTED
    assert errors.splitlines()[-1] == f"kvbench: interrupted; `kvbench report {session}` shows what was kept"
    assert "Traceback" not in errors
    assert result["interrupted"] is True
    assert result["models"][0]["kept_runs"] == 1
    # The signal may arrive between two runs, too.
    assert [run["reason"] for run in result["models"][0]["runs"]][1:] in ([], ["interrupted"])
    assert [path.name for path in tmp_path.iterdir()] == ["s.kvs"]


def test_an_interruption_before_the_first_run_leaves_no_session(tmp_path, consolidated):
    running = start(consolidated, tmp_path / "s.kvs", *SHORT)
    wait_for(running, "measuring on")
    running.send_signal(signal.SIGINT)
    printed, errors = running.communicate(timeout=60)

    assert running.returncode == ExitCode.INTERRUPTED
    assert (printed, errors.splitlines()[-1]) == ("", "kvbench: interrupted")
    assert not list(tmp_path.iterdir())


def test_a_model_for_another_dpu_is_refused_before_any_run(tmp_path, shared_dir):
    profiled = profile(tmp_path, shared_dir / "xmodels/unet2d_512_b4096.xmodel", *SHORT)

    assert profiled.code == ExitCode.BAD_DATA
    last = profiled.errors.splitlines()[-1]
    assert last.startswith("kvbench: ")
    assert "unet2d_512_b4096.xmodel: fingerprint 0x" in last
    assert not list(tmp_path.iterdir())


def test_a_board_that_is_gone_ends_the_session_with_the_figures_of_the_runs_kept(tmp_path, consolidated):
    session = tmp_path / "s.kvs"
    words = ("--runs", "9", "--smoke", "0", "--duration", "3", "--trim", "0.5", "--idle", "0.5", "--json")
    running = start(consolidated, session, *words)
    wait_for(running, "formal 1: kept")
    for child in psutil.Process(running.pid).children():
        if "virtual_board.process" in child.cmdline():
            child.kill()
    printed, errors = running.communicate(timeout=60)
    (model,) = json.loads(printed)["models"]

    assert running.returncode == ExitCode.UNAVAILABLE
    assert model["kept_runs"] == 1
    assert len(model["runs"]) == 2
    assert "virtual KV260 is gone" in errors.splitlines()[-1]


def test_any_command_can_be_the_benchmark(tmp_path, consolidated):
    words = (
        "--begin",
        " 0% ",
        "--end",
        " 100% ",
        "--count",
        r"number_of_frames= ?(\d+)",
        "--runs",
        "1",
        "--smoke",
        "0",
    )
    benchmark = ("--", "env", "SLEEP_MS=3000", "xdputil", "benchmark", "{model}", "-i", "-1", "1")

    profiled = profile(tmp_path, consolidated, *words, "--idle", "0.5", "--trim", "0.5", *benchmark)

    assert profiled.code == ExitCode.OK
    assert profiled.figure("throughput")["mean"] == pytest.approx(49.1, rel=0.02)


@pytest.mark.shared
def test_bytes_per_execution_of_real_files_are_those_of_their_instructions(tmp_path, shared_dir):
    models = [shared_dir / "xmodels" / name for name in ("yolov5n_640_b4096.xmodel", "mobilenetv2_224_b4096.xmodel")]

    profiled = profile(tmp_path, *models, "--runs", "2", "--smoke", "0", "--duration", "5", "--idle", "1")

    assert profiled.code == ExitCode.OK
    for model in profiled.result["models"]:
        moved = model["figures"]["bytes_above_idle_per_execution.total"]["mean"]
        decoded = model["static"]["read_bytes"] + model["static"]["write_bytes"]
        assert model["static"]["estimated"] is False
        assert moved == pytest.approx(decoded, rel=0.002)
