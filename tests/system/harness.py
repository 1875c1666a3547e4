"""Runs the real command on the virtual board, as a user does, and gives what it printed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Profiled:
    """One finished command."""

    code: int
    result: dict[str, Any]
    errors: str
    session: Path

    @property
    def model(self) -> dict[str, Any]:
        """The first model's result."""
        return self.result["models"][0]

    def runs(self, kept: bool) -> list[dict[str, Any]]:
        """Formal runs of the first model that were kept, or were not."""
        return [run for run in self.model["runs"] if run["phase"] == "formal" and run["kept"] is kept]

    def figure(self, name: str) -> dict[str, Any]:
        """A figure of the first model over its runs."""
        return self.model["figures"][name]


def command(*words: object) -> list[str]:
    """`kvbench WORDS...` by this interpreter."""
    return [sys.executable, "-m", "kv260_runtime.cli.main", *map(str, words)]


def profile(folder: Path, *words: object, board_options: tuple[str, ...] = ()) -> Profiled:
    """`kvbench profile --board virtual WORDS... --json`, to its end."""
    session = folder / "session.kvs"
    options = [word for option in board_options for word in ("--board-option", option)]
    done = subprocess.run(
        command("profile", "--board", "virtual", *options, "--out", session, "--json", *words),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Profiled(done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr, session)
