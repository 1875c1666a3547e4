"""`kvbench export`: the raw samples of a session for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kv260_runtime.errors import ExitCode
from kv260_runtime.export import FORMATS

EPILOG = """\
examples:
  kvbench export session.kvs --out samples                          a folder of CSV files
  kvbench export session.kvs --format npz --out samples.npz         for numpy.load
  kvbench export session.kvs --stream power.som --out power         one stream, with runs, markers and executions
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `export`."""
    parser.add_argument("session", type=Path, metavar="FILE", help="a session file of kvbench profile")
    parser.add_argument(
        "--format",
        choices=sorted(FORMATS),
        default="csv",
        help="csv: a folder of files; npz: a file for numpy; parquet: a folder of files, needs pyarrow (default: csv)",
    )
    parser.add_argument(
        "--stream", action="append", default=[], metavar="NAME", help="only this stream; may be repeated (default: all)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="the folder or file to create")


def run(arguments: argparse.Namespace) -> int:
    """Write the samples, and say on stderr where they are."""
    from kv260_runtime.export import writer
    from telemetry.session.reader import SessionReader

    with SessionReader(arguments.session) as source:
        writer(arguments.format)(source, arguments.stream, arguments.out)
    print(f"kvbench: wrote {arguments.out}", file=sys.stderr)
    return ExitCode.OK
