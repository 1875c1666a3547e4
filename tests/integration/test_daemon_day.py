"""A simulated day of the service, in short form; `python -m tools.bench.day` is the long one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.bench
def test_hours_of_everything_that_may_happen_leave_memory_and_counters_as_they_should_be(repository: Path) -> None:
    """Sensor gone and back, renumbered, disk full, wall clock stepped, monitor reset; it prints what failed."""
    words = [sys.executable, "-m", "tools.bench.day", "--hours", "2"]
    done = subprocess.run(words, cwd=repository, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("2 h in ")
