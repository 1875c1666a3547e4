"""Runs a command on a virtual board: `python -m virtual_board [--option NAME=VALUE]... -- COMMAND...`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from virtual_board.errors import BoardLost, VirtualBoardError
from virtual_board.faults import FAULTS
from virtual_board.launch import open_board

USAGE = (
    "usage: python -m virtual_board [--option NAME=VALUE]... -- COMMAND [ARGUMENT]...\n"
    "       python -m virtual_board faults"
)
UNAVAILABLE = 69


def main(arguments: Sequence[str]) -> int:
    """The command's exit code, as a shell would give it."""
    if list(arguments) == ["faults"]:
        for name, text in FAULTS.items():
            print(f"{name:20} {text}")
        return 0
    before, _, command = _split(arguments)
    pairs = [(before[i + 1] if i + 1 < len(before) else "").partition("=") for i in range(0, len(before), 2)]
    if not command or any(word != "--option" for word in before[::2]) or not all(equals for _, equals, _ in pairs):
        print(USAGE, file=sys.stderr)
        return VirtualBoardError.exit_code
    try:
        with open_board({name: value for name, _, value in pairs}) as board:
            return _run(command, {**os.environ, **board.environment})
    except VirtualBoardError as error:
        print(f"virtual_board: {error}", file=sys.stderr)
        return VirtualBoardError.exit_code
    except BoardLost as error:
        print(f"virtual_board: {error}", file=sys.stderr)
        return UNAVAILABLE


def _split(arguments: Sequence[str]) -> tuple[list[str], str, list[str]]:
    words = list(arguments)
    if "--" not in words:
        return words, "", []
    place = words.index("--")
    return words[:place], "--", words[place + 1 :]


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        print(f"virtual_board: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:  # The terminal has sent it to the command as well, which decides when it ends.
            continue
        return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
