"""Run the commands whose output README.md shows, and write what they print between their marks."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- output of: (?P<command>.+?) -->\n```text\n).*?(```\n<!-- end of output -->)", re.DOTALL)


def commands(text: str) -> list[str]:
    """The commands whose output a page shows."""
    return [match["command"] for match in BLOCK.finditer(text)]


def filled(text: str, run: Callable[[str], str]) -> str:
    """The page with `run(command)` in each of its blocks."""
    return BLOCK.sub(lambda match: f"{match[1]}{run(match['command']).rstrip()}\n{match[3]}", text)


def run_in_shell(command: str) -> str:
    """What a command prints on standard output, run from the repository's root; its progress stays visible."""
    done = subprocess.run(["sh", "-c", command], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"refresh_readme: `{command}` ended with exit code {done.returncode}; README.md is as it was")
    return done.stdout


if __name__ == "__main__":
    page = REPOSITORY / "README.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), run_in_shell), encoding="utf-8")
