"""`kvbench report`: the result of a session recorded earlier, in any format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kv260_runtime.cli.options import file_name, write_new
from kv260_runtime.errors import ExitCode
from kv260_runtime.report import FORMATS, TIMELINES

EPILOG = """\
examples:
  kvbench report session.kvs
  kvbench report session.kvs --budget                             what the accuracy of each figure is made of
  kvbench report session.kvs --format html --out session.html     one page with timeline, runs and findings
  kvbench report session.kvs --format markdown                    for a pull request
  kvbench report session.kvs --format trace --out session.json    for ui.perfetto.dev
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `report`."""
    parser.add_argument("session", type=Path, metavar="FILE", help="a session file of kvbench profile")
    parser.add_argument("--format", choices=sorted(FORMATS), default="table", help="what to write (default: table)")
    parser.add_argument(
        "--budget",
        dest="format",
        action="store_const",
        const="budget",
        help="what the accuracy of each figure is made of (the same as --format budget)",
    )
    parser.add_argument("--out", type=file_name, metavar="FILE", help="a file to create (default: standard output)")


def run(arguments: argparse.Namespace) -> int:
    """Compute the figures anew from the raw samples and write them."""
    text = rendered(arguments.session, arguments.format).rstrip("\n") + "\n"
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        write_new(arguments.out, text)
    return ExitCode.OK


def rendered(session: Path, name: str) -> str:
    """A session file in one of FORMATS. Raises SessionError if it is none."""
    from kv260_runtime.profile.evaluate import evaluate
    from kv260_runtime.report import renderer, timeline_renderer

    result = evaluate(session)
    detail = TIMELINES.get(name)
    if detail is None:
        return renderer(name)(result)
    from kv260_runtime.profile.timeline import read_timeline
    from telemetry.session.reader import SessionReader

    with SessionReader(session) as source:
        timeline = read_timeline(source, detail.most_bins, detail.least_bin_ns, detail.most_executions)
    return timeline_renderer(name)(result, timeline)
