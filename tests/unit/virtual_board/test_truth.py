"""True figures of a log written by hand, against sums done by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from virtual_board.constants import Constants
from virtual_board.errors import VirtualBoardError
from virtual_board.truth import read_truth, true_figures

CONSTANTS = Constants(
    idle_watts=5.0, dpu_watts=4.0, core_watts=1.0, background_share=0.0, background_bytes_per_second={"read.slot1": 100}
)
S = 1_000_000_000
PLAN = {
    "model": "m.xmodel",
    "boundary": "graph",
    "segments": [
        {"kind": "host", "duration_ns": S},
        {"kind": "dpu", "duration_ns": 2 * S, "moved_bytes": {"read.slot3": 1000}},
        {"kind": "dpu", "duration_ns": S, "watts": 7.0},
    ],
}
RECORDS: list[list[Any]] = [
    ["client", 1, 4711, 1, 0],
    ["plan", 1, 1, PLAN],
    ["core", 0, 0, S],
    ["run", 1, 1, 1, S, 3 * S, 2 * S],
    ["run", 1, 1, 2, 3 * S, 5 * S, S],
    ["charge", 3, 0, 2 * S, S],
    ["done", 1, 1, 1, 5 * S, 5 * S],
    ["done", 1, 1, 2, 9 * S, 9 * S],
    ["fault", "lost-interrupt", 4 * S, "begin"],
    ["end", 10 * S],
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    header = {"virtual_board_log": 1, "constants": CONSTANTS.to_json()}
    path.write_text("\n".join(json.dumps(line) for line in [header, *RECORDS]) + "\n")
    return path


def test_energy_is_idle_and_what_ran(log: Path) -> None:
    truth = read_truth(log)
    assert truth.joules(0, 10 * S) == pytest.approx(5 * 10 + 1 * 1 + 4 * 2 + 7 * 1)
    assert truth.joules(2 * S, 3 * S + S // 2) == pytest.approx(5 * 1.5 + 4 * 1 + 7 * 0.5)


def test_busy_is_what_the_status_showed_not_what_drew_power(log: Path) -> None:
    assert true_figures(log, 0, 10 * S)["busy_share"] == pytest.approx(0.4)


def test_bytes_flow_evenly_while_a_run_is_active(log: Path) -> None:
    truth = read_truth(log)
    assert truth.port_bytes(2 * S, 3 * S) == pytest.approx({"read.slot1": 100, "read.slot3": 500})


def test_cpu_time_of_models_and_of_observers_is_kept_apart(log: Path) -> None:
    cores = read_truth(log).cpu_seconds(0, S)
    assert cores[0] == {"workload": 1.0, "background": 0.0, "charged": 0.0}
    assert cores[3] == {"workload": 0.0, "background": 0.0, "charged": 0.5}


def test_figures_per_execution_lie_between_completions(log: Path) -> None:
    figures = true_figures(log, 0, 10 * S)
    assert figures["executions"] == 2
    assert figures["executions_per_second"] == pytest.approx(0.25)
    assert figures["joules_per_execution"] == pytest.approx(5 * 4)
    assert figures["port_bytes_per_execution"] == pytest.approx({"read.slot1": 400})


def test_figures_per_execution_are_absent_without_two_completions(log: Path) -> None:
    assert "joules_per_execution" not in true_figures(log, 0, 6 * S)


def test_completions_name_process_and_model(log: Path) -> None:
    truth = read_truth(log)
    first = truth.completions[0]
    assert (first.t_ns, first.pid, first.ordinal, first.model, first.boundary) == (5 * S, 4711, 1, "m.xmodel", "graph")
    assert truth.faults == [("lost-interrupt", 4 * S, "begin")]


@pytest.mark.parametrize("content", ["", "{}\n", '{"virtual_board_log": 2}\n', "hello\n"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x"
    path.write_text(content)
    with pytest.raises(VirtualBoardError, match="no event log"):
        read_truth(path)
