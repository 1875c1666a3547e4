"""The board process: one event loop that plays the timeline until its standard input closes.

`python -m virtual_board.process` reads one line of JSON (`Settings`) and answers with one line when the tree is ready.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import selectors
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from virtual_board import clock
from virtual_board.board import Board, Settings

PRIORITY = 30
"""Above any sampler: hardware does not wait for software."""


def take_real_time() -> str:
    """Ask for SCHED_FIFO; says what came of it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError as error:
        return f"no: SCHED_FIFO {PRIORITY} refused ({error.strerror})"
    return f"SCHED_FIFO {PRIORITY}"


def leave_samplers_alone() -> None:
    """Stay on the first CPU. A sampler pinned elsewhere is then never put off by the very change of state it watches,
    which would make it see runs shorter than such a delay too often.
    """
    with suppress(OSError):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def play(board: Board, stop: Callable[[], bool]) -> None:
    """Run the loop until `stop()`."""
    # select() takes its timeout in microseconds; epoll and poll round to milliseconds.
    with selectors.SelectSelector() as selector:
        board.server.register(selector)
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ, None)
        while not stop():
            due_ns = board.timers.next_due_ns()
            timeout = None if due_ns is None else max(0.0, (due_ns - clock.now_ns()) * 1e-9)
            for key, _ in selector.select(timeout):
                if key.data is None:
                    if not os.read(sys.stdin.fileno(), 4096):
                        return
                else:
                    key.data()
            board.timers.run_due(clock.now_ns())


def main() -> int:
    """Play one board."""
    settings = Settings(**json.loads(sys.stdin.readline()))
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopped.append(number))
    try:
        board = Board(settings)
        gc.collect()
        gc.freeze()
        gc.disable()  # Nothing here makes reference cycles in numbers that matter, and a collection would delay a flip.
        leave_samplers_alone()
        print(json.dumps({"ready": True, "realtime": take_real_time()}), flush=True)
        play(board, lambda: bool(stopped))
        board.close()
    finally:
        shutil.rmtree(settings.folder, ignore_errors=True)
    return 0


def settings_line(settings: Settings) -> bytes:
    """What the launcher writes to the process."""
    return json.dumps(dataclasses.asdict(settings)).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main())
