"""Broken files end in XModelError, quickly and in little memory: the fuzz bench at its shortest (CI runs 5,000)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.bench
@pytest.mark.shared
def test_broken_real_files_end_in_an_xmodel_error_or_are_read(repository: Path, shared_dir: Path) -> None:
    files = shared_dir / "xmodels"
    run = _fuzz(repository, "--count", "1000", "--files", str(files))
    assert run.stdout.endswith("passed\n"), run.stdout + run.stderr
    assert run.stdout.startswith("1000 files: ")


@pytest.mark.bench
def test_broken_generated_files_end_in_an_xmodel_error_or_are_read(repository: Path, tmp_path: Path) -> None:
    run = _fuzz(repository, "--count", "200", "--seed", "2", "--processes", "1", "--files", str(tmp_path))
    assert run.stdout.endswith("passed\n"), run.stdout + run.stderr


def _fuzz(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(repository / "tools/bench/fuzz_xmodel.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=110)
