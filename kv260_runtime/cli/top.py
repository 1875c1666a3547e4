"""`kvbench top`: DPU, cores, rails and memory traffic of a board, live in the terminal."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from kv260_runtime.cli import board as board_options
from kv260_runtime.cli.options import number
from kv260_runtime.errors import ExitCode, KvbenchError

if TYPE_CHECKING:
    from kv260_runtime.boards import BoardSession
    from kv260_runtime.top.samples import LiveSamples
    from kv260_runtime.top.view import View

ONCE_SECONDS = 2.6
"""Until streams of one second have two samples and the first second of the others is full."""
EPILOG = """\
Attaches to a running kv260-telemetry, else samples by itself. With -- COMMAND it shows the board while the command runs
and ends with it, which is the way to see an emulated board at work.

examples:
  kvbench top
  kvbench top --once --json
  kvbench top --board virtual -- xdputil benchmark model.xmodel -i -1 1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `top`."""
    board_options.add_arguments(parser)
    parser.add_argument(
        "--interval", type=number(0.1, 60), default=0.4, metavar="S", help="seconds between pictures (default: 0.4)"
    )
    parser.add_argument("--once", action="store_true", help="print one picture and end")
    parser.add_argument("--json", action="store_true", help="print JSON, one line a picture")


def run(arguments: argparse.Namespace) -> int:
    """Show until Ctrl-C, the end of the command, or once."""
    from kv260_runtime.top.samples import open_samples
    from telemetry.clock import SystemClock

    board, profile = board_options.open_board(arguments.board, arguments.board_option)
    with ExitStack() as stack:
        stack.callback(board.close)
        samples = open_samples(board, profile, SystemClock())
        stack.callback(samples.close)
        ended = _command(arguments.rest, board, stack)
        title = f"{board.label} - {samples.manner}"
        try:
            _show(arguments, _views(samples, ONCE_SECONDS if arguments.once else arguments.interval, ended), title)
        except KeyboardInterrupt:
            # How one leaves it.
            return ExitCode.OK
    return ExitCode.OK


def _command(words: list[str], board: BoardSession, stack: ExitStack) -> Callable[[], bool]:
    """Start the command, if there is one; whether it has ended."""
    if not words:
        return lambda: False
    environment = {**os.environ, **board.environment}
    silent = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            words, env=environment, stdin=silent, stdout=silent, stderr=silent, start_new_session=True
        )
    except OSError as error:
        raise KvbenchError(f"{words[0]}: cannot be started ({error.strerror})", ExitCode.UNAVAILABLE) from error
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return lambda: process.poll() is not None


def _views(samples: LiveSamples, seconds: float, ended: Callable[[], bool]) -> Iterator[View]:
    """One view after every so many seconds, until the command has ended."""
    from kv260_runtime.top.view import view
    from telemetry.clock import SystemClock

    due_ns = SystemClock.now_ns()
    while not ended():
        due_ns = max(due_ns + round(seconds * 1e9), SystemClock.now_ns())
        samples.take(due_ns)
        yield view(samples.histories, samples.missing)


def _show(arguments: argparse.Namespace, views: Iterator[View], title: str) -> None:
    if arguments.once:
        _once(arguments, next(views), title)
    elif arguments.json or not sys.stdout.isatty():
        from kv260_runtime.top.render import one_line

        for each in views:
            print(json.dumps(each.as_json()) if arguments.json else one_line(each), flush=True)
    else:
        _live(views, title)


def _once(arguments: argparse.Namespace, shown: View, title: str) -> None:
    from kv260_runtime.top.render import plain, screen

    if arguments.json:
        print(json.dumps(shown.as_json()))
        return
    lines = screen(shown, title, 100, 60)
    print(plain(lines[:-1]))


def _live(views: Iterator[View], title: str) -> None:
    """The terminal's other screen, redrawn for each view."""
    from rich.console import Console
    from rich.live import Live

    from kv260_runtime.top.render import as_text, screen

    console = Console()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        for each in views:
            live.update(as_text(screen(each, title, console.width, console.height)), refresh=True)
