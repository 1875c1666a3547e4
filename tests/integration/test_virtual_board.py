"""The virtual board in real time: its life, its sensors through the real readers, its vendor modules and xdputil."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from kv260_runtime.boards import installed_boards, open_installed_board
from kv260_runtime.xmodel import write_xmodel
from telemetry.boards import detect_board, load_board
from telemetry.clock import SystemClock
from telemetry.files import SystemFiles
from telemetry.readers import open_kind
from virtual_board.errors import VirtualBoardError
from virtual_board.launch import VirtualBoard, open_board
from virtual_board.models import demo_graph
from virtual_board.truth import read_truth, true_figures

CLOCK = SystemClock()
MS = 1_000_000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The consolidated demo at a size that is quick to read."""
    path = tmp_path_factory.mktemp("model") / "demo.xmodel"
    write_xmodel(demo_graph(split_offline=True, size=64), path)
    return path


@pytest.fixture
def options(tmp_path: Path, model: Path) -> dict[str, str]:
    """Executions of exactly 20 ms at 90 % busy."""
    moved = {"read.slot3": 10_000_000, "read.slot4": 5_000_000, "write.slot4": 7_000_001, "read.slot1": 400_000}
    segments = [{"kind": "dpu", "duration_ns": 18 * MS, "moved_bytes": moved}]
    timing = tmp_path / "timing.json"
    timing.write_text(json.dumps({model.name: {"overhead_ns": 2 * MS, "segments": segments}}))
    return {"log": str(tmp_path / "events.jsonl"), "timing": str(timing), "seed": "11"}


@pytest.fixture
def board(options: dict[str, str]) -> Iterator[VirtualBoard]:
    with open_board(options) as opened:
        yield opened


def command(board: VirtualBoard, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **board.environment, **variables}
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=30)


LOOP = """
import sys, time
import numpy as np, xir, vitis_ai_library
graph = xir.Graph.deserialize(sys.argv[1])
runner = vitis_ai_library.GraphRunner.create_graph_runner(graph)
inputs, outputs = runner.get_inputs(), runner.get_outputs()
np.asarray(inputs[0])[...] = 1
runner.wait(runner.execute_async(inputs, outputs))
print("executing", flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    job = runner.execute_async(inputs, outputs)
    assert runner.wait(job) == 0
"""


@contextmanager
def looping(board: VirtualBoard, model: Path, seconds: float) -> Iterator[None]:
    """A process that executes during the block, from its second execution on, and ends after it."""
    environment = {**os.environ, **board.environment}
    words = [sys.executable, "-c", LOOP, str(model), str(seconds)]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"executing\n"
        yield
    assert process.returncode == 0


# Its life


def test_it_is_found_by_name_and_has_the_shape_of_a_board() -> None:
    assert "virtual" in installed_boards()
    board = open_installed_board("virtual", {"seed": "3"})
    try:
        assert (board.profile, board.label, board.emulated, board.files) == ("kv260", "virtual KV260", True, None)
        assert board.provenance["seed"] == 3
        assert board.provenance["constants"]["idle_watts"] == 4.83
        assert json.loads(json.dumps(board.provenance)) == board.provenance
        assert board.root.is_dir()
    finally:
        board.close()
        board.close()
    assert not board.root.parent.exists()


def test_a_wrong_option_opens_nothing() -> None:
    with pytest.raises(VirtualBoardError, match="did you mean seed"):
        open_board({"sead": "1"})


OPENER = """
import sys
from virtual_board.launch import open_board
board = open_board({})
print(board.root.parent, board._process.pid, flush=True)
sys.stdin.read()
board.close()
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_board_does_not_outlive_whoever_opened_it(ending: signal.Signals) -> None:
    opener = subprocess.Popen(
        [sys.executable, "-c", OPENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert opener.stdout is not None
    folder, pid = opener.stdout.readline().split()
    watched = os.pidfd_open(int(pid))
    assert Path(folder.decode()).is_dir()
    opener.send_signal(ending)
    opener.communicate()
    ready = _ended(watched, 5.0)
    os.close(watched)
    assert ready
    assert not Path(folder.decode()).exists()


def _ended(descriptor: int, seconds: float) -> bool:
    """Whether the process behind a pidfd has ended, or ends in time."""
    import select

    return bool(select.select([descriptor], [], [], seconds)[0])


def test_an_interrupt_of_the_terminal_does_not_reach_the_board(board: VirtualBoard) -> None:
    assert board._process is not None
    assert os.getsid(board._process.pid) == board._process.pid != os.getsid(0)


@pytest.mark.parametrize("message", [b"hello", b"[]", b'{"run": 7}', b'{"plan": {"segments": 3}}', b'{"hello": {}}'])
def test_a_message_without_sense_ends_the_connection_and_nothing_else(board: VirtualBoard, message: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(5)
        connection.connect(board.environment["KVBENCH_BOARD_SOCKET"])
        connection.send(message)
        assert connection.recv(100) == b""
    assert json.loads(command(board, "xdputil", "status").stdout)["kernels"]


def test_a_board_whose_process_dies_is_told_and_leaves_nothing(
    options: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    board = open_board(options)
    assert board._process is not None
    board._process.kill()
    board.close()
    assert not board.root.parent.exists()
    assert capfd.readouterr().err == ""  # killed from outside: it had nothing to say


def test_two_boards_do_not_meet(board: VirtualBoard, model: Path) -> None:
    with open_board({"apm": "absent", "power": "absent"}) as other:
        assert not (other.root / "dev").exists()
        assert [path.name for path in (other.root / "sys/class/hwmon").iterdir()] == ["hwmon0"]
        command(board, "xdputil", "benchmark", str(model), "-i", "-1", "1", SLEEP_MS="100")
        assert (other.root / "sys/class/drm/card1/device/kds_custat_raw").read_text().split(",")[4] == "0x4"


# Its sensors


def test_every_stream_of_the_boards_profile_opens(board: VirtualBoard) -> None:
    files = SystemFiles()
    detected = detect_board(files, board.root)
    assert detected is not None and detected.name == board.profile
    names = set()
    for plan in load_board(board.profile).streams:
        for name, reader in open_kind(plan.kind, files, board.root, plan.options):
            assert len(reader.read()) == len(reader.columns)
            names.add(name)
            reader.close()
    assert {"cu", "power.som", "apm", "cpu", "temperature", "frequency"} <= names


class Sampler:
    """A plain loop over real readers, one random instant in each slot of 1 ms."""

    def __init__(self, root: Path, kinds: dict[str, int]) -> None:
        options = {plan.kind: plan.options for plan in load_board("kv260").streams}
        self._readers = []
        for kind, every in kinds.items():
            [(_, reader)] = open_kind(kind, SystemFiles(), root, options[kind])
            self._readers.append((kind, every, reader))
        self.samples: dict[str, list[tuple[int, tuple[float, ...]]]] = {kind: [] for kind in kinds}
        self.columns = {kind: [column.name for column in reader.columns] for kind, _, reader in self._readers}

    def run(self, seconds: float) -> None:
        generator = random.Random(1)
        start_ns = CLOCK.now_ns()
        for slot in range(round(seconds * 1000)):
            CLOCK.sleep_until_ns(start_ns + slot * MS + generator.randrange(MS))
            for kind, every, reader in self._readers:
                if slot % every == 0:
                    before_ns = CLOCK.now_ns()
                    values = reader.read()
                    self.samples[kind].append(((before_ns + CLOCK.now_ns()) // 2, values))
        for _, _, reader in self._readers:
            reader.close()

    def column(self, kind: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        index = self.columns[kind].index(name)
        times = np.array([t_ns for t_ns, _ in self.samples[kind]])
        return times, np.array([values[index] for _, values in self.samples[kind]])


def test_what_the_sensors_show_is_what_the_log_calls_true(
    board: VirtualBoard, options: dict[str, str], model: Path
) -> None:
    sampler = Sampler(board.root, {"xrt-cu": 1, "hwmon-power": 10, "apm": 50, "proc-stat": 100})
    with looping(board, model, 2.6):
        sampler.run(2.5)
    board.close()
    log = Path(options["log"])
    times, status = sampler.column("xrt-cu", "status.DPUCZDX8G_1")
    weights = np.gradient(times.astype(float))
    busy = float(((status.astype(int) & 0x4) == 0) @ weights / weights.sum())
    assert busy == pytest.approx(true_figures(log, int(times[0]), int(times[-1]))["busy_share"], abs=0.015)

    times, watts = sampler.column("hwmon-power", "watts")
    shifted = true_figures(log, int(times[0]) - 13_200_000, int(times[-1]) - 13_200_000)["mean_watts"]
    assert float(np.mean(watts)) == pytest.approx(shifted, rel=0.008)

    truth = read_truth(log)
    for column in ("read.slot3", "read.slot4", "write.slot4", "read.slot1"):
        times, counts = sampler.column("apm", column)
        moved = int(sum((b - a) % 2**32 for a, b in zip(counts.astype(int), counts.astype(int)[1:], strict=False)))
        true_bytes = truth.port_bytes(int(times[0]), int(times[-1]))[column]
        assert moved == pytest.approx(true_bytes, rel=0.01)

    busy_seconds = 0.0
    for core in range(4):
        times, seconds = sampler.column("proc-stat", f"busy.cpu{core}")
        busy_seconds += seconds[-1] - seconds[0]
    cores = truth.cpu_seconds(int(times[0]), int(times[-1]))
    true_seconds = sum(sum(core.values()) for core in cores)
    assert busy_seconds == pytest.approx(true_seconds, abs=0.1)
    assert sum(core["charged"] for core in cores) > 0  # this process observes


def test_executions_keep_their_period_whatever_messages_cost(
    board: VirtualBoard, options: dict[str, str], model: Path
) -> None:
    with looping(board, model, 1.5):
        pass
    board.close()
    truth = read_truth(Path(options["log"]))
    ends_ns = np.array([completion.t_ns for completion in truth.completions])
    assert np.median(np.diff(ends_ns)) == pytest.approx(20 * MS, abs=0.2 * MS)
    assert {completion.boundary for completion in truth.completions} == {"graph"}


# Vendor modules and xdputil


def test_outputs_that_were_promised_to_stay_unread_are_refused_and_emulation_is_announced(
    board: VirtualBoard, model: Path
) -> None:
    code = (
        LOOP.partition("runner.wait")[0]
        + "runner.wait(runner.execute_async(inputs, outputs))\nnp.asarray(outputs[0])\n"
    )
    ended = command(board, sys.executable, "-c", code, str(model), KVBENCH_OUTPUTS="unread")
    assert ended.returncode == 1
    assert "virtual_board: emulated KV260, no hardware behind these figures" in ended.stderr
    assert "was not computed: KVBENCH_OUTPUTS=unread promises that nobody reads it" in ended.stderr


def test_xdputil_prints_what_the_vendors_prints(board: VirtualBoard, options: dict[str, str], model: Path) -> None:
    ended = command(board, "xdputil", "benchmark", str(model), "-i", "-1", "2", SLEEP_MS="500", NUM_OF_REF="1")
    assert ended.returncode == 0
    assert ended.stdout.endswith("Test PASS.\n")
    progress = [line.split("] ")[1] for line in ended.stderr.splitlines() if "performance_test.hpp" in line]
    assert progress[:11] == [f"{percent}% ..." for percent in range(0, 101, 10)]
    assert progress[11] == "stop and waiting for all threads terminated...."
    frames = [int(line.split()[2]) for line in progress[12:14]]
    assert [line.split()[0] for line in progress[12:14]] == ["thread-0", "thread-1"]
    assert progress[15].startswith("FPS= ") and f"number_of_frames= {sum(frames)} time= 0.5" in progress[15]
    assert progress[16] == "BYEBYE"
    board.close()
    assert len(read_truth(Path(options["log"])).completions) == sum(frames) + 2


def test_a_model_for_another_dpu_aborts_as_the_vendor_does(tmp_path: Path, model: Path) -> None:
    with open_board({"dpu": "2.5"}) as board:
        ended = command(board, "xdputil", "benchmark", str(model), "1", SLEEP_MS="100")
        assert ended.returncode == 134
        assert "is un-matched with actual dpu_fingerprint 0x101000016010407" in ended.stderr
        passed = command(
            board, "xdputil", "benchmark", str(model), "1", SLEEP_MS="100", XLNX_ENABLE_FINGERPRINT_CHECK="0"
        )
        assert passed.returncode == 0


def test_xdputil_describes_board_and_model(board: VirtualBoard, model: Path) -> None:
    query = json.loads(command(board, "xdputil", "query").stdout)
    assert query["kernels"][0]["fingerprint"] == "0x101000056010407"
    listed = json.loads(command(board, "xdputil", "xmodel", str(model), "-l").stdout)
    assert [entry["device"] for entry in listed["subgraphs"]] == ["USER", "DPU", "CPU", "CPU", "CPU"]
    missing = command(board, "xdputil", "benchmark", "/nowhere.xmodel", "1")
    assert (missing.returncode, missing.stdout) == (0, "/nowhere.xmodel does not exist\n")


def test_any_command_runs_on_a_board_of_its_own(model: Path) -> None:
    words = [sys.executable, "-m", "virtual_board", "--option", "seed=5", "--"]
    ended = subprocess.run([*words, sys.executable, "-c", LOOP, str(model), "0.1"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert subprocess.run([*words, "sh", "-c", "exit 7"]).returncode == 7


def test_each_process_works_on_the_first_core(board: VirtualBoard, options: dict[str, str], model: Path) -> None:
    for _ in range(3):
        with looping(board, model, 0.1):
            pass
    board.close()
    assert {core for core, _, _ in read_truth(Path(options["log"])).occupied} == {0}
