"""What a program started on the virtual board is told about it."""

from __future__ import annotations

import sys

import pytest

from virtual_board.__main__ import main


def test_a_program_finds_the_folder_of_the_boards_files(capfd: pytest.CaptureFixture[str]) -> None:
    show = "import os, pathlib; print(sorted(p.name for p in pathlib.Path(os.environ['KVBENCH_ROOT']).iterdir()))"
    assert main(["--", sys.executable, "-c", show]) == 0
    found = capfd.readouterr().out
    assert "'proc'" in found
    assert "'sys'" in found
