"""`kvbench report`: the result of a session recorded earlier."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kv260_runtime.errors import ExitCode
from kv260_runtime.report import FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `report`."""
    parser.add_argument("session", type=Path, metavar="FILE", help="a session file of kvbench profile")
    parser.add_argument("--format", choices=sorted(FORMATS), default="table", help="what to print (default: table)")


def run(arguments: argparse.Namespace) -> int:
    """Compute the figures anew from the raw samples and print them."""
    from kv260_runtime.profile.evaluate import evaluate
    from kv260_runtime.report import renderer

    sys.stdout.write(renderer(arguments.format)(evaluate(arguments.session)).rstrip("\n") + "\n")
    return ExitCode.OK
