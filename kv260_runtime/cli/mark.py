"""`kvbench mark`: a named instant, from a shell, in whatever records this board now."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

EPILOG = """\
needs a running kv260-telemetry; a `kvbench profile` attached to it has the mark in its session. Prints the instant,
in nanoseconds of CLOCK_MONOTONIC.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `mark`."""
    parser.add_argument("name", type=_name, metavar="NAME", help="what happens now, without spaces, e.g. load.begin")
    parser.add_argument("--at", type=int, metavar="T_NS", help="another instant than now, on CLOCK_MONOTONIC")
    parser.add_argument(
        "--socket", type=Path, metavar="PATH", help="of the service (default: $KVBENCH_TELEMETRY, else this machine's)"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def _name(text: str) -> str:
    from telemetry.client import mark_name
    from telemetry.errors import ConfigError

    try:
        return mark_name(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def run(arguments: argparse.Namespace) -> int:
    """Set the mark and print when."""
    from telemetry.client import Connection

    with Connection(arguments.socket) as connection:
        t_ns = connection.mark(arguments.name, arguments.at)
    if arguments.json:
        print(json.dumps({"schema_version": 1, "name": arguments.name, "t_ns": t_ns}))
    else:
        print(t_ns)
    return 0
