"""Who writes a session, so that a run in progress can be told from one that was cut short."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

KEY = "writer"
"""In the session's metadata."""


def this_process() -> dict[str, Any]:
    """What names this process for ever: its number, its start and the boot; empty where /proc does not tell."""
    try:
        return {"pid": os.getpid(), "start_ticks": _start_ticks(os.getpid()), "boot": _boot()}
    except (OSError, ValueError):
        return {}


def lives(writer: Mapping[str, Any]) -> bool:
    """Whether the process that `this_process` described still runs."""
    try:
        return bool(writer) and (writer["boot"], writer["start_ticks"]) == (_boot(), _start_ticks(writer["pid"]))
    except (OSError, ValueError):
        return False


def _start_ticks(pid: int) -> int:
    """Field 22 of /proc/PID/stat; the name before it may hold spaces and brackets."""
    return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
