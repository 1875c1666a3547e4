"""Intervals cover, gates decide and plans hold, in sessions of virtual time; the long forms are benches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("bench", "arguments"),
    [("coverage", ["--sessions", "600", "--drift", "level", "reference"]), ("comparisons", ["--comparisons", "80"])],
)
def test_the_short_form_comes_out_as_the_long_one_must(repository: Path, bench: str, arguments: list[str]) -> None:
    command = [sys.executable, "-m", f"tools.bench.{bench}", *arguments]
    result = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=100)

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("\n") >= 3
