"""Values of command-line options that several commands take, checked where they are typed."""

from __future__ import annotations

import argparse
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kv260_runtime.errors import ExitCode, KvbenchError

N = TypeVar("N", int, float)


def number(minimum: float, maximum: float) -> Callable[[str], float]:
    """A parser of seconds and the like between two bounds."""
    return _bounded(float, "a number", minimum, maximum, "{:g}")


def whole(minimum: int, maximum: int) -> Callable[[str], int]:
    """A parser of counts between two bounds."""
    return _bounded(int, "a whole number", minimum, maximum, "{}")


def _bounded(convert: Callable[[str], N], kind: str, minimum: N, maximum: N, shown: str) -> Callable[[str], N]:
    def parse(text: str) -> N:
        try:
            value = convert(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {kind}") from None
        if not minimum <= value <= maximum:
            bounds = f"{shown.format(minimum)} and {shown.format(maximum)}"
            raise argparse.ArgumentTypeError(f"{text} is not between {bounds}")
        return value

    return parse


def file_name(text: str) -> Path:
    """A parser of file names: an empty one would mean the present folder."""
    if not text:
        raise argparse.ArgumentTypeError("the file name is empty")
    return Path(text)


def check_arrays(path: Path) -> None:
    """Raises KvbenchError if there is no such file, or it is no .npz."""
    if not path.is_file():
        raise KvbenchError(f"{path}: no such input file", ExitCode.NO_INPUT)
    if not os.access(path, os.R_OK):
        raise KvbenchError(f"{path}: this user may not read it; chmod +r", ExitCode.NO_INPUT)
    if not zipfile.is_zipfile(path):
        raise KvbenchError(f"{path}: is no .npz of plain arrays; numpy.savez writes one", ExitCode.BAD_DATA)


def name_value_pairs(given: list[str]) -> dict[str, str]:
    """`NAME=VALUE` words as a mapping."""
    pairs = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise KvbenchError(f"--board-option {word!r}: write NAME=VALUE", ExitCode.USAGE)
        pairs[name] = value
    return pairs


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet. Raises KvbenchError in one line; a half-written file is removed."""
    try:
        stream = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise KvbenchError(f"{path} exists already; remove it or name another --out", ExitCode.CANNOT_CREATE) from None
    except OSError as error:
        raise KvbenchError(f"cannot create {path}: {error.strerror}", ExitCode.CANNOT_CREATE) from error
    try:
        with stream:
            stream.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise KvbenchError(f"cannot write {path}: {error.strerror}", ExitCode.IO_ERROR) from error
