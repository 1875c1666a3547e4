"""`--board` and `--board-option`: the machine itself, a profile by name, or an installed emulation by name."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path

from kv260_runtime.boards import BoardSession, HardwareBoard, installed_boards, open_installed_board
from kv260_runtime.cli.options import name_value_pairs
from kv260_runtime.errors import BoardUnavailable, ExitCode, KvbenchError
from telemetry.boards import BoardProfile, board_names, detect_board, is_path, load_board
from telemetry.files import SystemFiles

AUTO = "auto"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say where to measure."""
    parser.add_argument(
        "--board",
        default=AUTO,
        metavar="NAME",
        help="auto: the board this runs on; virtual: an emulated KV260; a profile's name, or a YAML file of your own "
        "(default: auto)",
    )
    parser.add_argument(
        "--board-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of an emulated board, e.g. seed=7 or fault=dpu-timeout@3; may be repeated",
    )


def open_board(name: str, option_words: list[str]) -> tuple[BoardSession, BoardProfile]:
    """The board called `name`, ready, with its profile. Nothing falls back: an unknown machine ends here.

    Raises BoardUnavailable in one line.
    """
    options = name_value_pairs(option_words)
    if name in installed_boards():
        board = _installed(name, options)
        return board, load_board(board.profile)
    known = [AUTO, *board_names(), *installed_boards()]
    if name not in known and not is_path(name):
        raise KvbenchError(f"--board: no board is called {name!r}{_nearest_first(name, known)}", ExitCode.CONFIG)
    if options:
        raise KvbenchError(f"--board-option: the board {name!r} has no options", ExitCode.USAGE)
    if name == AUTO:
        detected = detect_board(SystemFiles(), Path("/"))
        if detected is None:
            profiles = ", ".join(board_names())
            raise BoardUnavailable(
                f"this machine is no board with a profile (known: {profiles}); name one with --board, "
                "or measure an emulated KV260 with --board virtual"
            )
        return HardwareBoard(detected.name, detected.title), detected
    profile = load_board(name)
    return HardwareBoard(profile.name, profile.title), profile


def _nearest_first(word: str, known: list[str]) -> str:
    """A hint to end a message with: the nearest known word, then all."""
    close = get_close_matches(word, known, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else ";"
    return f"{guess} known: {', '.join(sorted(known, key=lambda one: (one not in close, one)))}, or a YAML file"


def _installed(name: str, options: dict[str, str]) -> BoardSession:
    try:
        return open_installed_board(name, options)
    except (ValueError, LookupError, OSError) as error:
        if isinstance(error, KvbenchError):
            raise
        # A package that offers a board may say by `exit_code` whose fault it is, e.g. a wrong option.
        code = ExitCode(getattr(error, "exit_code", ExitCode.UNAVAILABLE))
        raise KvbenchError(f"--board {name}: {error}", code) from error
