"""`kvbench doctor`: what this board offers, what is missing, why, and what to do about it."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kv260_runtime.cli import board as board_options
from kv260_runtime.cli.options import number
from kv260_runtime.errors import BoardUnavailable

if TYPE_CHECKING:
    from kv260_runtime.boards import BoardSession
    from kv260_runtime.doctor.check import Check
    from telemetry.boards import BoardProfile

WIDTH = 100
EPILOG = """\
exit codes: 0 measuring is possible (what is missing is listed), 69 something prevents it

examples:
  kvbench doctor model.xmodel                 this board, whether the model fits its DPU, what the sensor averages over
  kvbench doctor --board virtual              an emulated KV260
  kvbench doctor --seconds 0                  without the checks that take time
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `doctor`."""
    parser.add_argument(
        "models",
        nargs="*",
        type=Path,
        metavar="MODEL",
        help="models to hold against the loaded DPU; the first is the load",
    )
    board_options.add_arguments(parser)
    parser.add_argument(
        "--seconds", type=number(0, 600), default=3.0, metavar="S",
        help="how long to sample; 0 skips all that takes time (default: 3)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON (docs/schemas/doctor.schema.json)")


def run(arguments: argparse.Namespace) -> int:
    """Examine, print each check as it is made, and say by the exit code whether measuring is possible."""
    from kv260_runtime.doctor.check import exit_code

    checks: list[Check] = []
    for check in _checks(arguments):
        checks.append(check)
        if not arguments.json:
            print("\n".join(lines(check)), flush=True)
    code = exit_code(checks)
    if arguments.json:
        told = {"schema_version": 1, "possible": code == 0, "checks": [check.as_json() for check in checks]}
        sys.stdout.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    else:
        print(_verdict(checks))
    return code


def _checks(arguments: argparse.Namespace) -> Iterator[Check]:
    from kv260_runtime.doctor.check import Check

    try:
        board, profile = board_options.open_board(arguments.board, arguments.board_option)
    except BoardUnavailable as error:
        if arguments.board != board_options.AUTO:
            raise
        remedy = (
            "--board virtual measures an emulated KV260; --board linux shows what this machine's own sensors offer; "
            "docs/board-profiles.md tells how to describe another board"
        )
        yield Check("board", "fail", str(error).partition(";")[0], remedy)
        yield from _anywhere()
        return
    try:
        yield from _examined(arguments, board, profile)
    finally:
        board.close()


def _anywhere() -> Iterator[Check]:
    """What can be said of a machine that is no board."""
    from kv260_runtime.doctor import host

    yield host.check_python()
    yield host.check_disk(Path.cwd())


def _examined(arguments: argparse.Namespace, board: BoardSession, profile: BoardProfile) -> Iterator[Check]:
    from kv260_runtime.doctor.examination import Question, examine
    from telemetry.clock import SystemClock
    from telemetry.files import load_files

    def note(text: str) -> None:
        print(f"kvbench: {text} ...", file=sys.stderr, flush=True)

    files = load_files(board.files)
    question = Question(board, profile, files, SystemClock(), arguments.models, arguments.seconds)
    yield from examine(question, note)


def lines(check: Check) -> Iterator[str]:
    """One check for people: status, name and finding, the remedy below it."""
    head = f"{check.status:6}  {check.name:26}  "
    yield from textwrap.wrap(
        check.text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False
    ) or [head.rstrip()]
    if check.remedy is not None and check.status != "ok":
        mark = " " * len(head) + "-> "
        yield from textwrap.wrap(
            check.remedy, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark), break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip


def _verdict(checks: list[Check]) -> str:
    count = {status: sum(check.status == status for check in checks) for status in ("fail", "warn", "absent")}
    if count["fail"]:
        return f"\nmeasuring is not possible: {count['fail']} checks failed"
    return f"\nmeasuring is possible; {count['warn']} warnings, {count['absent']} things absent"
