"""The service and a client under the unit's sandbox, as far as it can be made without systemd as process 1."""

from __future__ import annotations

import grp
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemetry.boards import load_board
from telemetry.clock import SystemClock
from tests.integration.daemon_harness import Daemon, running
from virtual_board.launch import VirtualBoard, open_board

SANDBOX = Path(__file__).parent / "sandbox.py"
REPOSITORY = SANDBOX.parents[2]

CLIENT = """
import json, os, sys
from pathlib import Path
from telemetry.client import Connection, measure

path = Path(sys.argv[1])
with Connection(path) as connection:
    until_ns = connection.ask("flush")["t_ns"] + 400_000_000
    with measure("inside", path=path) as measured:
        while connection.ask("flush")["t_ns"] < until_ns:
            pass
    down = connection.ask("status")["down"]
allowed = {}
for place in (path.parents[2] / "sys/class", Path("/sys"), Path("/usr"), Path("/")):
    try:
        (place / "kvbench-test").touch()
        allowed[str(place)] = True
    except OSError as error:
        allowed[str(place)] = error.strerror
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(json.dumps({
    "why": measured.why, "watts": measured.watts, "bytes": measured.bytes, "down": down, "writes": allowed,
    "user": os.getuid(), "groups": os.getgroups(), "capabilities": status["CapBnd"] + status["CapEff"],
    "no_new_privileges": status["NoNewPrivs"],
}))
"""


def possible() -> str | None:
    """Why the sandbox cannot be made here; None if it can."""
    if os.geteuid() != 0:
        return "not root"
    absent = [name for name in ("unshare", "setpriv", "prlimit", "systemd-sysusers") if shutil.which(name) is None]
    if absent:
        return f"no {absent[0]} here"
    words = ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/mnt"]
    return None if subprocess.run(words, capture_output=True).returncode == 0 else "mounting is not permitted here"


pytestmark = pytest.mark.skipif(possible() is not None, reason=f"no sandbox: {possible()}")


def confined(root: Path, state: Path) -> list[object]:
    """What stands before a command to run it in the sandbox."""
    needed = sorted({Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), REPOSITORY})
    return ["unshare", "--mount", "--propagation", "private", sys.executable, SANDBOX, root, state, *needed, "--"]


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualBoard]:
    """A board whose folders and nodes are as udev and tmpfiles.d leave them for the group kvd."""
    with open_board({"seed": "6"}) as opened:
        opened.root.parent.chmod(0o755)
        (opened.root / "run/kvbench").mkdir(parents=True)
        yield opened


@pytest.fixture(scope="module")
def daemon(board: VirtualBoard) -> Iterator[Daemon]:
    state = Path("/srv")
    wrapper = confined(board.root, state)
    user = subprocess.run([*map(str, wrapper), "id", "-u"], capture_output=True, text=True, check=True).stdout
    group = subprocess.run([*map(str, wrapper), "id", "-g"], capture_output=True, text=True, check=True).stdout
    for node in (board.root / "dev").glob("uio*"):
        os.chown(node, 0, int(group))
        node.chmod(0o660)
    os.chown(board.root / "run/kvbench", int(user), int(group))
    (board.root / "run/kvbench").chmod(0o2775)
    words = ("--raw", state / "raw.kvs", "--raw-max-mb", "200")
    with running(board.root, *words, wrapper=wrapper) as started:
        yield started


def test_it_runs_as_the_units_user_and_reads_every_sensor(daemon: Daemon, board: VirtualBoard) -> None:
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    assert "CapEff:\t0000000000000000" in status
    assert "CapBnd:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    shown = daemon.metrics()
    while not all(value > 1 for name, value in shown.items() if name.startswith("kv_sampler_samples")):
        shown = daemon.metrics()  # the slow ones take seconds
    up = {name: value for name, value in shown.items() if name.startswith("kv_sensor_up")}
    assert set(up.values()) == {1.0}
    kinds = {plan.kind for plan in load_board("kv260").streams}
    assert len(up) == len(kinds) + 1  # the service's own cost
    for metric in ("kv_energy_joules", "kv_accelerator_busy", "kv_memory_bytes", "kv_cpu_seconds", "kv_temperature"):
        assert any(name.startswith(metric) for name in shown), metric
    with daemon.connect() as connection:
        told = connection.ask("status")
    assert told["missing"] == {}
    apm = next(stream for stream in told["streams"] if stream["name"] == "apm")
    assert apm["attributes"]["takeover"] == f"by {board.root}/run/kvbench/apm-0xfd0b0000.boot"


def test_its_socket_belongs_to_its_group(daemon: Daemon) -> None:
    about = daemon.socket.stat()
    assert about.st_mode & 0o777 == 0o660
    assert (about.st_uid, about.st_gid) == (Path(f"/proc/{daemon.process.pid}").stat().st_uid, about.st_gid)
    assert about.st_gid not in {0, *(group.gr_gid for group in grp.getgrall() if group.gr_name in ("root", "video"))}


def test_a_client_in_the_sandbox_measures_and_can_write_nowhere(daemon: Daemon, board: VirtualBoard) -> None:
    command = [*confined(board.root, Path("/srv")), sys.executable, "-c", CLIENT, daemon.socket]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    # A loaded machine may have kept the sampler waiting, which concerns the busy share only.
    assert set(told["why"]) <= {"busy_share"}
    assert told["down"] == []
    assert told["watts"] == pytest.approx(4.83, rel=0.02)
    assert told["bytes"] > 0
    assert told["user"] == daemon.socket.stat().st_uid
    assert len(told["groups"]) >= 3
    assert (told["capabilities"], told["no_new_privileges"]) == ("0" * 32, "1")
    assert set(told["writes"].values()) == {"Read-only file system"}


def test_a_full_disk_costs_raw_samples_and_nothing_else(daemon: Daemon) -> None:
    """STATE holds 1 MB, which raw samples fill within seconds; the file may grow to 100 MB."""
    daemon.forget_what_was_told()
    until_ns = SystemClock.now_ns() + 60_000_000_000
    shown = daemon.metrics()
    while shown["kv_raw_file_up"] == 1.0 and SystemClock.now_ns() < until_ns:
        with daemon.connect() as connection:
            connection.ask("flush")
        shown = daemon.metrics()
    assert shown["kv_raw_file_up"] == 0.0
    with daemon.connect() as connection:
        assert "raw.kvs" in connection.ask("status")["raw_fault"]
        begin_ns = connection.ask("flush")["t_ns"]
        while (now_ns := connection.ask("flush")["t_ns"]) < begin_ns + 1_000_000_000:
            pass
        assert connection.ask("joules", begin_ns, now_ns - 100_000_000)["watts"] == pytest.approx(4.83, rel=0.02)
    later = daemon.metrics()
    counters = [name for name in shown if "_total" in name]
    assert all(later[name] >= shown[name] >= 0 for name in counters)
    assert later['kv_energy_joules_total{rail="som"}'] > shown['kv_energy_joules_total{rail="som"}']
    assert daemon.process.poll() is None
