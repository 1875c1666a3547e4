"""A recording killed at random moments leaves a session that opens as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_no_kill_costs_more_than_a_second(repository: Path) -> None:
    """Six kills here; `python -m tools.bench.kill_recorder --kills 50` is the long form."""
    command = [sys.executable, "-m", "tools.bench.kill_recorder", "--kills", "6"]
    result = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=100)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "6 kills with seed" in result.stdout
