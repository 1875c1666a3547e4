"""/proc/stat of the emulated cores: nothing is lost, nothing counted twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from virtual_board.constants import Constants
from virtual_board.cpu import Processor

SECOND = 1_000_000_000
NOMINAL = Constants()


def ticks(root: Path) -> list[list[int]]:
    """Columns of cpu0 to cpu3."""
    lines = (root / "proc/stat").read_text().splitlines()
    return [[int(column) for column in line.split()[1:]] for line in lines if line.startswith("cpu") and line[3] != " "]


def moved(before: list[list[int]], after: list[list[int]]) -> list[list[int]]:
    return [[b - a for a, b in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)]


def processor(root: Path, constants: Constants = NOMINAL) -> Processor:
    return Processor(root, constants, random.Random(1), 0, 1_700_000_000)


def test_work_of_models_is_user_time_of_its_core(tmp_path: Path) -> None:
    cpu = processor(tmp_path)
    before = ticks(tmp_path)
    cpu.occupy(2, SECOND)
    cpu.publish(2 * SECOND)  # in the middle of the segment
    assert cpu.release(2, 3 * SECOND) == SECOND
    cpu.publish(4 * SECOND)
    after = moved(before, ticks(tmp_path))
    assert [row[0] for row in after] == [0, 0, 200, 0]
    assert all(sum(row) == pytest.approx(400, abs=2) for row in after)


def test_the_background_is_a_share_of_idle_time(tmp_path: Path) -> None:
    cpu = processor(tmp_path)
    before = ticks(tmp_path)
    cpu.publish(100 * SECOND)
    assert [row[2] for row in moved(before, ticks(tmp_path))] == [40, 40, 40, 40]


def test_charges_fill_idle_time_from_the_last_core_on_and_are_told(tmp_path: Path) -> None:
    cpu = processor(tmp_path, Constants(background_share=0.0))
    cpu.occupy(3, 0)
    cpu.charge(int(1.5 * SECOND))
    charges = cpu.publish(SECOND)
    assert charges == [(2, 0, SECOND, SECOND), (1, 0, SECOND, SECOND // 2)]


def test_charges_without_room_wait(tmp_path: Path) -> None:
    cpu = processor(tmp_path, Constants(background_share=0.0))
    cpu.charge(5 * SECOND)
    first, second = cpu.publish(SECOND), cpu.publish(2 * SECOND)
    assert sum(charge[3] for charge in first) == 4 * SECOND
    assert sum(charge[3] for charge in second) == SECOND


def test_the_sum_line_is_the_sum(tmp_path: Path) -> None:
    cpu = processor(tmp_path)
    cpu.publish(10 * SECOND)
    head = (tmp_path / "proc/stat").read_text().splitlines()[0].split()
    assert head[0] == "cpu"
    assert [int(column) for column in head[1:]] == [sum(column) for column in zip(*ticks(tmp_path), strict=True)]


STEPS = st.lists(
    st.tuples(st.sampled_from(["publish", "occupy", "release", "charge"]), st.integers(0, 3), st.integers(0, SECOND))
)


@settings(deadline=None)
@given(STEPS)
def test_time_is_conserved_and_counters_never_fall(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    root = tmp_path_factory.mktemp("cpu")
    cpu = processor(root)
    start = last = ticks(root)
    length = len((root / "proc/stat").read_text())
    now_ns = 0
    occupied: dict[int, int] = {}
    worked = dict.fromkeys(range(4), 0)
    for action, core, delta_ns in steps:
        now_ns += delta_ns
        if action == "occupy" and core not in occupied:
            cpu.occupy(core, now_ns)
            occupied[core] = now_ns
        elif action == "release" and core in occupied:
            since_ns = occupied.pop(core)
            assert cpu.release(core, now_ns) == since_ns
            worked[core] += now_ns - since_ns
        elif action == "charge":
            cpu.charge(delta_ns)
        else:
            cpu.publish(now_ns)
            assert all(step >= 0 for row in moved(last, ticks(root)) for step in row)
            last = ticks(root)
    cpu.publish(now_ns)
    for core, row in enumerate(moved(start, ticks(root))):
        assert sum(row) == pytest.approx(now_ns / 1e7, abs=3)
        done_ns = worked[core] + (now_ns - occupied[core] if core in occupied else 0)
        assert row[0] == done_ns // 10**7
    assert len((root / "proc/stat").read_text()) == length
