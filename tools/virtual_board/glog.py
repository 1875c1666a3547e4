"""Lines as the vendor's libraries log them, and their way of ending the process."""

from __future__ import annotations

import os
import sys
import threading
from typing import NoReturn

from virtual_board import clock

FIRST_LINE = "WARNING: Logging before InitGoogleLogging() is written to STDERR"

wall_step_ns = 0
"""By how much the board's wall clock has been stepped; the board tells with each answer."""
_begun = False


def set_wall_step(step_ns: int) -> None:
    """Follow a step of the board's wall clock."""
    global wall_step_ns  # noqa: PLW0603  # glog's state is the process's
    wall_step_ns = step_ns


def line(severity: str, source: str, message: str) -> str:
    """`I0531 03:26:06.802162  1163 source] message`: local wall time and thread id (board facts, 4.1)."""
    wall_ns = clock.wall_ns() + wall_step_ns
    t = clock.local_time(wall_ns)
    stamp = f"{t.tm_mon:02d}{t.tm_mday:02d} {t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d}.{wall_ns // 1000 % 10**6:06d}"
    return f"{severity}{stamp} {threading.get_native_id():5d} {source}] {message}"


def log(severity: str, source: str, message: str) -> None:
    """Write one line to standard error at once."""
    global _begun  # noqa: PLW0603
    if not _begun:
        _begun = True
        print(FIRST_LINE, file=sys.stderr)
    print(line(severity, source, message), file=sys.stderr, flush=True)


def fatal(source: str, message: str) -> NoReturn:
    """Log and abort the whole process, as LOG(FATAL) does."""
    log("F", source, message)
    print("*** Check failure stack trace: ***", file=sys.stderr, flush=True)
    os.abort()
