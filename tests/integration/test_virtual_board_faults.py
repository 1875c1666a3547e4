"""Faults by name happen at their process and time, show what they are to show, and leave later processes alone."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from kv260_runtime.xmodel import write_xmodel
from telemetry.boards import load_board
from telemetry.errors import ReadGap
from telemetry.files import SystemFiles, load_files
from telemetry.readers import Reader, open_kind
from virtual_board import clock
from virtual_board.launch import VirtualBoard, open_board
from virtual_board.models import demo_graph
from virtual_board.truth import read_truth

MS = 1_000_000
LOOP = """
import sys, time, vart, xir
import numpy as np
graph = xir.Graph.deserialize(sys.argv[1])
[dpu] = [s for s in graph.get_root_subgraph().toposort_child_subgraph() if s.get_attr("device") == "DPU"]
runner = vart.Runner.create_runner(dpu, "run")
arrays = [
    [np.zeros(t.dims, np.int8) for t in tensors]
    for tensors in (runner.get_input_tensors(), runner.get_output_tensors())
]
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    assert runner.wait(runner.execute_async(*arrays)) == 0
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "demo.xmodel"
    write_xmodel(demo_graph(split_offline=True, size=64), path)
    return path


@pytest.fixture
def opened(tmp_path: Path, model: Path) -> Iterator[Callable[[str], VirtualBoard]]:
    """Opens boards with faults; executions of 10 ms, 8 of them in the DPU."""
    timing = tmp_path / "timing.json"
    moved = {"read.slot3": 30_000_000}
    segments = [{"kind": "dpu", "duration_ns": 8 * MS, "moved_bytes": moved}]
    timing.write_text(json.dumps({model.name: {"overhead_ns": 2 * MS, "segments": segments}}))
    boards: list[VirtualBoard] = []

    def open_with(fault: str) -> VirtualBoard:
        boards.append(open_board({"fault": fault, "timing": str(timing), "log": str(tmp_path / "log.jsonl")}))
        return boards[-1]

    yield open_with
    for board in boards:
        board.close()


def run(board: VirtualBoard, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **board.environment, **variables}
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=30)


def loop(board: VirtualBoard, model: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    return run(board, sys.executable, "-c", LOOP, str(model), str(seconds))


@contextmanager
def looping(board: VirtualBoard, model: Path, seconds: float) -> Iterator[int]:
    """A loop in the background; yields a descriptor that becomes readable when it has ended."""
    words = [sys.executable, "-c", LOOP, str(model), str(seconds)]
    environment = {**os.environ, **board.environment}
    with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as process:
        ended = os.pidfd_open(process.pid)
        yield ended
        os.close(ended)


def power_reader(board: VirtualBoard) -> Reader:
    [plan] = [plan for plan in load_board("kv260").streams if plan.kind == "hwmon-power"]
    [(_, reader)] = open_kind("hwmon-power", load_files(board.files), board.root, plan.options)
    return reader


def readings(reader: Reader, ended: int) -> list[float | str]:
    """Watts or the reason of a gap, every 10 ms until the process has ended."""
    found: list[float | str] = []
    while not select.select([ended], [], [], 0.01)[0]:
        try:
            found.append(float(reader.read()[0]))
        except ReadGap as gap:
            found.append(gap.reason)
    reader.close()
    return found


def faults_logged(tmp_path: Path) -> list[tuple[str, str]]:
    return [(name, edge) for name, _, edge in read_truth(tmp_path / "log.jsonl").faults]


def test_a_lost_interrupt_delays_one_completion_to_half_a_second(opened, model: Path, tmp_path: Path) -> None:
    board = opened("lost-interrupt@1+0.2")
    assert loop(board, model, 1.2).returncode == 0
    board.close()
    truth = read_truth(tmp_path / "log.jsonl")
    ends_ns = np.diff(np.sort([completion.t_ns for completion in truth.completions]))
    assert sum(ends_ns > 400 * MS) == 1
    [longest] = [run for run in truth.runs if run.end_ns - run.start_ns > 100 * MS]
    assert longest.end_ns - longest.start_ns == pytest.approx(500 * MS, abs=5 * MS)
    assert longest.active_end_ns - longest.start_ns == pytest.approx(8 * MS, abs=3 * MS)


def test_a_dpu_timeout_aborts_the_process_and_the_next_one_runs(opened, model: Path) -> None:
    board = opened("dpu-timeout@1+0.1")
    assert board.environment["XLNX_DPU_TIMEOUT"] == "2000"
    failed = run(board, sys.executable, "-c", LOOP, str(model), "5", XLNX_DPU_TIMEOUT="300")
    assert failed.returncode == -6
    assert "cu timeout!" in failed.stderr
    assert "dpu timeout! core_idx = 0\n LSTART 0" in failed.stderr
    assert loop(board, model, 0.1).returncode == 0


def test_a_wedged_unit_fails_every_later_process(opened, model: Path) -> None:
    board = opened("wedged-cu@1+0.1")
    assert run(board, sys.executable, "-c", LOOP, str(model), "5", XLNX_DPU_TIMEOUT="300").returncode == -6
    for _ in range(2):
        failed = loop(board, model, 5)
        assert failed.returncode == -6
        assert "the compute unit does not execute" in failed.stderr
    assert "0xffffffff" in (board.root / "sys/class/drm/card1/device/kds_custat_raw").read_text()


def test_a_firmware_reload_fails_the_process_and_renumbers_the_unit(opened, model: Path, tmp_path: Path) -> None:
    board = opened("firmware-reload@1+0.1")
    custat = board.root / "sys/class/drm/card1/device/kds_custat_raw"
    assert loop(board, model, 5).returncode == -6
    assert custat.read_text() == ""
    assert loop(board, model, 5).returncode == -6  # nothing is loaded
    deadline_ns = clock.now_ns() + 5_000 * MS
    while not custat.read_text() and clock.now_ns() < deadline_ns:
        select.select([], [], [], 0.02)
    assert loop(board, model, 0.1).returncode == 0
    assert (board.root / "sys/bus/platform/devices/CU.3.auto/stat").exists()
    board.close()
    assert faults_logged(tmp_path) == [("firmware-reload", "begin"), ("firmware-reload", "end")]


def test_xdputil_acts_out_its_faults_in_their_process_only(opened, model: Path) -> None:
    board = opened("missing-100-marker@1;test-failed@2;wall-clock-step@3+0.2")
    words = ("xdputil", "benchmark", str(model), "-i", "-1", "1")
    first, second, third = (run(board, *words, SLEEP_MS="500") for _ in range(3))
    assert [ended.returncode for ended in (first, second, third)] == [0, 0, 0]
    assert ["] 100% ..." in ended.stderr for ended in (first, second, third)] == [False, True, True]
    assert [ended.stdout.splitlines()[-1] for ended in (first, second, third)] == [
        "Test PASS.", "Test Failed!!!", "Test PASS.",
    ]  # fmt: skip
    days = [
        {line[1:5] for line in ended.stderr.splitlines() if "performance_test.hpp" in line}
        for ended in (first, second, third)
    ]
    assert len(days[2] - days[0]) == 1


def test_a_step_of_the_wall_clock_shows_in_btime(opened, model: Path) -> None:
    board = opened("wall-clock-step@1+0")
    [before] = [line for line in (board.root / "proc/stat").read_text().splitlines() if "btime" in line]
    assert loop(board, model, 0.2).returncode == 0
    [after] = [line for line in (board.root / "proc/stat").read_text().splitlines() if "btime" in line]
    assert int(after.split()[1]) - int(before.split()[1]) == 86_400


def test_a_storm_of_ebusy_is_gaps_and_nine_of_ten_reads(opened, model: Path) -> None:
    board = opened("ebusy-storm@1+0.2")
    assert board.files == "virtual_board.faulty_files:open_files"
    reader = power_reader(board)
    with looping(board, model, 1.5) as ended:
        found = readings(reader, ended)
    gaps = [value for value in found if isinstance(value, str)]
    assert len(gaps) > 50
    assert all(value > 4 for value in found if isinstance(value, float))
    stormy = found[found.index(gaps[0]) :]
    assert sum(isinstance(value, str) for value in stormy) / len(stormy) == pytest.approx(0.9, abs=0.05)


def test_a_vanished_sensor_is_a_gap_and_comes_back(opened, model: Path, tmp_path: Path) -> None:
    board = opened("sensor-vanishes@1+0.2")
    reader = power_reader(board)
    with looping(board, model, 3.0) as ended:
        found = readings(reader, ended)
    kinds = [isinstance(value, float) for value in found]
    first_gap, last_gap = kinds.index(False), len(kinds) - 1 - kinds[::-1].index(False)
    assert not any(kinds[first_gap : last_gap + 1])
    assert all(kinds[:first_gap]) and all(kinds[last_gap + 1 :]) and kinds[-1]
    board.close()
    assert faults_logged(tmp_path) == [("sensor-vanishes", "begin"), ("sensor-vanishes", "end")]


def test_a_renumbered_sensor_is_found_again_with_the_machines_own_files(opened, model: Path) -> None:
    board = opened("hwmon-renumbered@1+0.2")
    assert board.files is None
    reader = power_reader(board)
    with looping(board, model, 0.8) as ended:
        found = readings(reader, ended)
    assert isinstance(found[-1], float)
    assert (board.root / "sys/class/hwmon/hwmon3/name").read_text() == "ina260_u14\n"
    assert sum(isinstance(value, str) for value in found) <= 3


def test_a_stuck_sensor_repeats_one_value_until_the_process_ends(opened, model: Path) -> None:
    board = opened("stuck-value@1+0.3")
    reader = power_reader(board)
    with looping(board, model, 1.5) as ended:
        found = readings(reader, ended)
    # The last third lies behind the beginning of the fault even where the program is slow to start.
    late = found[2 * len(found) // 3 : -10]
    assert len(set(late)) == 1
    with looping(board, model, 0.5) as ended:
        again = readings(power_reader(board), ended)
    assert len(set(again)) > 3


def test_counters_wrap_at_once_when_asked(opened, model: Path) -> None:
    board = opened("counter-wrap")
    [(_, reader)] = open_kind("apm", SystemFiles(), board.root, {})
    column = [column.name for column in reader.columns].index("read.slot3")
    before = reader.read()[column]
    assert 2**32 - 20_000_001 <= before < 2**32
    with looping(board, model, 0.3):
        pass
    after = reader.read()[column]
    reader.close()
    board.close()
    assert after < before
    assert (after - before) % 30_000_000 == (-(2**32)) % 30_000_000
