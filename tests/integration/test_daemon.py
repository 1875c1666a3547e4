"""The service on a virtual board: what it tells whom, and how it begins, reloads and ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemetry.client import Connection, measure
from telemetry.clock import SystemClock
from telemetry.errors import NotCovered, SensorNotFound, TelemetryError
from telemetry.session import SessionReader
from tests.integration.daemon_harness import Daemon, running
from virtual_board.launch import VirtualBoard, open_board

MS = 1_000_000


@pytest.fixture(scope="module")
def board() -> Iterator[VirtualBoard]:
    with open_board({"seed": "3"}) as opened:
        yield opened


@pytest.fixture(scope="module")
def daemon(board: VirtualBoard) -> Iterator[Daemon]:
    with running(board.root) as started:
        yield started


def passed(connection: Connection, duration_ns: int) -> tuple[int, int]:
    """A span of the board's time that has passed, told by the samples themselves."""
    begin_ns = now_ns = connection.ask("flush")["t_ns"]
    while now_ns < begin_ns + duration_ns:
        now_ns = connection.ask("flush")["t_ns"]
    return begin_ns, begin_ns + duration_ns


def covered(connection: Connection, duration_ns: int) -> tuple[int, int]:
    """The same, one in which a loaded machine let the compute unit be read often enough."""
    while True:
        span = passed(connection, duration_ns)
        try:
            connection.ask("busy", *span)
        except NotCovered:
            continue
        return span


# HTTP


def test_metrics_are_few_well_formed_and_say_that_the_board_is_emulated(daemon: Daemon) -> None:
    text = daemon.get()
    shown = daemon.metrics()
    assert 100 < len(shown) < 500
    assert any('kv_build_info{board="kv260",emulated="true"' in name for name in shown)
    assert shown['kv_sensor_up{sensor="power.som"}'] == 1.0
    assert shown['kv_sampler_samples_total{sampler="cu"}'] > 0
    assert daemon.get("/-/healthy") == "samples advance\n"
    assert daemon.get("/-/ready") == "ready\n"
    if shutil.which("promtool"):
        said = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
        assert (said.returncode, said.stdout + said.stderr) == (0, "")


def test_a_scrape_is_answered_while_no_sensor_is(daemon: Daemon) -> None:
    recorder = daemon.recorder()
    os.kill(recorder, signal.SIGSTOP)
    try:
        assert "kv_energy_joules_total" in daemon.get(seconds=1)
    finally:
        os.kill(recorder, signal.SIGCONT)


def test_a_client_that_says_nothing_keeps_nobody_waiting(daemon: Daemon) -> None:
    host, port = daemon.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))), socket.create_connection((host, int(port))) as half:
        half.sendall(b"GET /metr")
        assert daemon.get("/-/ready", seconds=2) == "ready\n"


# The socket


def test_a_measured_block_knows_what_it_took(daemon: Daemon) -> None:
    with daemon.connect() as connection:
        while True:
            with measure("idle", path=daemon.socket) as measured:
                passed(connection, 300 * MS)
            if "busy_share" not in measured.why:  # a loaded machine may have kept the sampler waiting
                break
    assert measured.why == {}
    assert measured.watts == pytest.approx(4.83, rel=0.02)
    assert measured.uncertainty_joules == pytest.approx(0.03 * measured.seconds, rel=0.3)
    assert measured.bytes == pytest.approx(1e6 * measured.seconds, rel=0.1)
    assert measured.busy_share == pytest.approx(0, abs=0.01)
    assert measured.answers["joules"]["covered"] == 1.0


def test_a_span_too_old_is_none_with_a_reason_or_raises(daemon: Daemon) -> None:
    with daemon.connect() as connection:
        with pytest.raises(NotCovered, match="before what is remembered"):
            connection.ask("joules", 1, 1_000_000)
        with pytest.raises(TelemetryError, match="unknown request 'watts'"):
            connection.ask("watts")
        assert connection.ask("status")["board"] == "kv260"


def test_a_block_that_fails_passes_its_own_error_on(daemon: Daemon) -> None:
    with pytest.raises(ZeroDivisionError), measure("wrong", path=daemon.socket, strict=True):
        _ = 1 / 0


def test_without_a_service_a_block_runs_all_the_same(tmp_path: Path) -> None:
    with measure("alone", path=tmp_path / "no.sock") as measured:
        pass
    assert (measured.joules, measured.bytes) == (None, None)
    assert set(measured.why) == {"joules", "bytes", "busy_share"}
    assert "no kv260-telemetry listens" in measured.why["joules"]
    with pytest.raises(SensorNotFound), measure("alone", path=tmp_path / "no.sock", strict=True):
        pytest.fail("the block must not run")


def test_marks_of_a_shell_reach_subscribers_with_their_instant(daemon: Daemon) -> None:
    words = [sys.executable, "-m", "kv260_runtime.cli.main", "mark", "load.begin", "--socket", str(daemon.socket)]
    with daemon.connect() as connection:
        connection.ask("subscribe", "power.som")
        before_ns = SystemClock.now_ns()
        printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        told: dict[str, object] = {}
        while "mark" not in told:
            told = connection.receive()
    assert told["mark"] == "load.begin"
    assert before_ns < told["t_ns"] == int(printed) < SystemClock.now_ns()
    again = subprocess.run([*words, "--json", "--at", "77"], capture_output=True, text=True, check=True).stdout
    assert json.loads(again) == {"schema_version": 1, "name": "load.begin", "t_ns": 77}


def test_a_mark_without_a_service_says_so_in_one_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "kv260_runtime.cli.main", "mark", "a", "--socket", str(tmp_path / "no.sock")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 69
    assert done.stderr.count("\n") == 1
    assert "no kv260-telemetry listens" in done.stderr


def test_a_subscriber_gets_every_sample_once_up_to_its_flush(daemon: Daemon) -> None:
    with daemon.connect() as connection:
        connection.ask("subscribe", "cu")
        times: list[int] = []
        missed = flushed_ns = 0
        for _ in range(3):
            connection.send("flush")
            answer: dict[str, object] = {}
            while "ok" not in answer:
                answer = connection.receive()
                times += answer.get("t_ns", []) if "samples" in answer else []  # type: ignore[operator]
                missed += sum(gap[3] for gap in answer.get("gaps", []))  # type: ignore[attr-defined]
            flushed_ns = answer["t_ns"]  # type: ignore[assignment]
            passed_ns = flushed_ns + 100 * MS
            while flushed_ns < passed_ns:
                line = connection.receive()
                times += line.get("t_ns", [])
                missed += sum(gap[3] for gap in line.get("gaps", []))
                flushed_ns = max([flushed_ns, *line.get("t_ns", [])])
    assert times == sorted(set(times))
    assert len(times) + missed == pytest.approx((times[-1] - times[0]) / MS, abs=3)


def test_answers_keep_their_order_though_some_must_wait(daemon: Daemon) -> None:
    with daemon.connect() as connection:
        begin_ns = connection.ask("flush")["t_ns"]
        connection.send("joules", begin_ns, begin_ns + 250 * MS)
        connection.send("mark", "later")
        first, second = connection.reply(), connection.reply()
    assert first["seconds"] == 0.25
    assert second["name"] == "later"
    # Stamped as it came, not when its turn came.
    assert second["t_ns"] < begin_ns + 250 * MS


def test_a_client_that_does_not_read_is_let_go_and_others_are_served(daemon: Daemon) -> None:
    with daemon.connect() as deaf, daemon.connect() as other:
        with pytest.raises(TelemetryError, match="the service is gone"):
            while True:
                deaf.send("status")
        assert other.ask("status")["clients"] == 1


def test_the_socket_is_for_its_group(daemon: Daemon) -> None:
    assert daemon.socket.stat().st_mode & 0o777 == 0o660


def test_a_c_program_is_told_the_same(daemon: Daemon, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "client.c").write_text(C_CLIENT)
    compile_ = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{repository / 'include'}"]
    subprocess.run([*compile_, "-o", tmp_path / "client", tmp_path / "client.c"], check=True)
    with daemon.connect() as connection:
        begin_ns, end_ns = covered(connection, 300 * MS)
        words = [str(tmp_path / "client"), str(daemon.socket), str(begin_ns), str(end_ns)]
        lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
        told = {kind: connection.ask(kind, begin_ns, end_ns) for kind in ("joules", "bytes", "busy")}
    assert float(lines[0]) == pytest.approx(told["joules"]["joules"], rel=1e-12)
    assert float(lines[1]) == pytest.approx(told["bytes"]["bytes"], rel=1e-12)
    assert float(lines[2]) == pytest.approx(told["busy"]["busy_share"], rel=1e-12)
    assert lines[3] == "marked"
    assert lines[4].startswith("1 the start lies before what is remembered")
    assert lines[5].startswith("1 no rail is called pl; there is som")
    assert lines[6].startswith("-1 a b: a mark's name")
    assert lines[7] == "-1 /nowhere/x: No such file or directory"


def test_the_header_is_also_cplusplus(repository: Path, tmp_path: Path) -> None:
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler here")
    (tmp_path / "client.cpp").write_text(C_CLIENT)
    words = ["c++", "-Wall", "-Wextra", "-Werror", f"-I{repository / 'include'}", "-fsyntax-only"]
    subprocess.run([*words, str(tmp_path / "client.cpp")], check=True)


C_CLIENT = r"""
#include "kvbench.h"

int main(int count, char **words)
{
    kvbench_t kv;
    double value = -1;
    if (count < 4 || kvbench_open(&kv, words[1]) != KVBENCH_OK)
        return 1;
    int64_t begin = atoll(words[2]), end = atoll(words[3]);
    if (kvbench_joules(&kv, begin, end, NULL, &value) == KVBENCH_OK)
        printf("%.17g\n", value);
    if (kvbench_bytes(&kv, begin, end, &value) == KVBENCH_OK)
        printf("%.17g\n", value);
    if (kvbench_busy(&kv, begin, end, NULL, &value) == KVBENCH_OK)
        printf("%.17g\n", value);
    if (kvbench_mark(&kv, "from-c", 0) == KVBENCH_OK)
        printf("marked\n");
    int code = kvbench_joules(&kv, 1, 2, NULL, &value);
    printf("%d %s\n", code, kv.reason);
    code = kvbench_joules(&kv, begin, end, "pl", &value);
    printf("%d %s\n", code, kv.reason);
    code = kvbench_mark(&kv, "a b", 0);
    printf("%d %s\n", code, kv.reason);
    kvbench_close(&kv);
    code = kvbench_open(&kv, "/nowhere/x");
    printf("%d %s\n", code, kv.reason);
    return 0;
}
"""


# Its life


def _only_cpu(folder: Path, period_ms: int = 100) -> Path:
    profile = folder / "small.yaml"
    profile.write_text(
        f"name: small\ntitle: A small board\nstreams:\n  - {{kind: proc-stat, period_ms: {period_ms}}}\n"
    )
    return profile


def test_sigterm_ends_it_within_a_second_and_leaves_nothing(board: VirtualBoard, tmp_path: Path) -> None:
    raw = tmp_path / "raw.kvs"
    with running(board.root, "--raw", raw, "--socket", tmp_path / "s") as daemon:
        recorder = daemon.recorder()
        begin_ns = SystemClock.now_ns()
        code, errors = daemon.end()
        assert SystemClock.now_ns() - begin_ns < 1_000 * MS
        assert (code, errors) == (0, "")
        assert daemon.told("STOPPING") == "1"
    assert not (tmp_path / "s").exists()
    assert not Path(f"/proc/{recorder}").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.kvs"]
    with SessionReader(raw) as reader:
        assert len(reader.series("cu").t_ns) > 0


def test_a_reload_records_by_the_new_profile_and_counts_on(board: VirtualBoard, tmp_path: Path) -> None:
    profile = _only_cpu(tmp_path)
    with running(board.root, "--board", profile, "--socket", tmp_path / "s") as daemon:
        before = daemon.metrics()
        profile.write_text(profile.read_text().replace("100", "50") + "  - {kind: thermal, period_ms: 50}\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert int(daemon.told("RELOADING")) == 1
        daemon.told("READY")
        with Connection(tmp_path / "s") as connection:
            passed(connection, 200 * MS)
            periods = {stream["name"]: stream["period_ns"] for stream in connection.ask("status")["streams"]}
        assert (periods["cpu"], periods["temperature"]) == (50 * MS, 50 * MS)
        after = daemon.metrics()
        assert 'kv_temperature_celsius{sensor="apu-thermal"}' in after
        counters = [name for name in before if "cpu_seconds" in name or "samples_total" in name]
        assert len(counters) > 4
        assert all(after[name] >= before[name] for name in counters if name in after)
        assert after['kv_sampler_samples_total{sampler="cpu"}'] > before['kv_sampler_samples_total{sampler="cpu"}']

        profile.write_text(profile.read_text().replace("proc-stat", "proc-stats"))
        daemon.process.send_signal(signal.SIGHUP)
        daemon.told("READY")
        profile.write_text(_only_cpu(tmp_path).read_text() + "  - {kind: rapl, period_ms: 50, required: true}\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.told("READY")
        with Connection(tmp_path / "s") as connection:
            passed(connection, 200 * MS)
        assert daemon.metrics()['kv_temperature_celsius{sensor="apu-thermal"}'] > 0
        code, errors = daemon.end()
    assert code == 0
    assert "reloaded: small" in errors
    assert [line.partition(": ")[0] for line in errors.splitlines()] == ["reloaded", "not reloaded", "not reloaded"]
    assert "proc-stats" in errors
    assert "A small board needs rapl" in errors


def test_the_watchdog_is_fed_only_while_samples_advance(board: VirtualBoard, tmp_path: Path) -> None:
    watched = {"WATCHDOG_USEC": "1000000"}
    words = ("--board", _only_cpu(tmp_path), "--socket", tmp_path / "s")
    with running(board.root, *words, environment=watched) as daemon:
        assert daemon.told("WATCHDOG", seconds=2) == "1"
        recorder = daemon.recorder()
        os.kill(recorder, signal.SIGSTOP)
        try:
            with pytest.raises(TimeoutError):
                while True:  # what was on its way
                    daemon.told("WATCHDOG", seconds=0.8)
        finally:
            os.kill(recorder, signal.SIGCONT)
        assert daemon.told("WATCHDOG", seconds=2) == "1"


def test_the_death_of_its_recorder_is_its_own(board: VirtualBoard, tmp_path: Path) -> None:
    with running(board.root, "--board", _only_cpu(tmp_path), "--socket", tmp_path / "s") as daemon:
        os.kill(daemon.recorder(), signal.SIGKILL)
        _, errors = daemon.process.communicate(timeout=20)
    assert daemon.process.returncode == 74
    assert "killed by SIGKILL" in errors
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--listen", "9487"), "expected HOST:PORT"),
        (("--listen", "127.0.0.1:99999"), "--listen 127.0.0.1:99999"),
        (("--board", "kv261"), "no board profile is called 'kv261'"),
        (("--socket", "/" + "x" * 120), "a socket's path has at most 107 bytes"),
    ],
)
def test_options_that_cannot_be_had_end_it_in_one_line(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    base = ("--root", str(tmp_path), "--listen", "127.0.0.1:0", "--board", str(_only_cpu(tmp_path)))
    done = subprocess.run([sys.executable, "-m", "telemetry.daemon", *base, *words], capture_output=True, text=True)
    assert done.returncode == 78
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [("--history-minutes", "0"), ("--raw-max-mb", "much"), ("--port", "1")])
def test_options_that_make_no_sense_are_a_fault_of_usage(words: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-m", "telemetry.daemon", *words], capture_output=True, text=True)
    assert done.returncode == 64
    assert words[0] in done.stderr.splitlines()[-1]


def test_a_reload_begins_another_raw_file_and_keeps_the_one_before(board: VirtualBoard, tmp_path: Path) -> None:
    raw = tmp_path / "raw.kvs"
    words = ("--board", _only_cpu(tmp_path), "--socket", tmp_path / "s", "--raw", raw)
    with running(board.root, *words) as daemon, Connection(tmp_path / "s") as connection:
        passed(connection, 300 * MS)
        daemon.process.send_signal(signal.SIGHUP)
        assert daemon.told("RELOADING") == "1"
        daemon.told("READY")
        begin_ns = passed(connection, 300 * MS)[0]
        assert daemon.end() == (0, "reloaded: small\n")
    with SessionReader(raw) as after, SessionReader(raw.with_name("raw.kvs.1")) as before:
        earlier, later = before.series("cpu").t_ns, after.series("cpu").t_ns
    assert 0 < earlier[-1] < later[0] < begin_ns
    assert len(later) > 1


def test_two_services_do_not_share_a_socket_and_a_stale_one_is_replaced(
    board: VirtualBoard, daemon: Daemon, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "telemetry.daemon", "--root", str(board.root), "--listen", "127.0.0.1:0"]
    done = subprocess.run([*words, "--board", str(_only_cpu(tmp_path))], capture_output=True, text=True)
    assert (done.returncode, "another kv260-telemetry listens there" in done.stderr) == (78, True)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "s"))
    words = ("--board", _only_cpu(tmp_path), "--socket", tmp_path / "s")
    with running(board.root, *words), Connection(tmp_path / "s") as connection:
        assert connection.ask("status")["ok"]
