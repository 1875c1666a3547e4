"""`kvbench external`: a power meter beside the board, after the fact."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kv260_runtime.cli.options import number
from kv260_runtime.errors import ExitCode, KvbenchError

if TYPE_CHECKING:
    from telemetry.model import Window


SCHEMA_VERSION = 1
"""Of --json: docs/schemas/external.schema.json."""

EPILOG = """\
examples:
  kvbench external session.kvs --csv meter.csv --columns time=t,power=P,unit=mW --boundary "12 V input"
  kvbench external session.kvs --typed --at 10,20,30,40,50 --boundary "12 V input"
  kvbench external --csv trace.csv --columns time=t,power=P       find the one run in a file, without a session

A file is aligned by the load, not by clocks: profile with --pulse.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `external`."""
    parser.add_argument(
        "session", nargs="?", type=Path, metavar="SESSION", help="a session file of kvbench profile, to be added to"
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--csv", type=Path, metavar="FILE", help="what the meter wrote")
    source.add_argument("--typed", action="store_true", help="ask for readings, run by run, on standard input")
    parser.add_argument(
        "--columns",
        default="time=time,power=power",
        metavar="KEY=NAME,...",
        help="columns by name or number: time, power or volts and amperes; unit, volts_unit, amperes_unit, time_unit "
        "(default: time=time,power=power)",
    )
    parser.add_argument(
        "--boundary", metavar="TEXT", help="what the meter measures, e.g. '12 V input'; stands in every figure"
    )
    parser.add_argument("--at", metavar="S,S,...", help="with --typed: the seconds of each run the readings are from")
    parser.add_argument(
        "--gain-u",
        type=number(0, 1),
        metavar="U",
        help="relative standard uncertainty of the meter, e.g. 0.005; without it its figures have no accuracy",
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Add readings to a session, or find the run in a file."""
    if arguments.session is None:
        if arguments.typed:
            raise KvbenchError("--typed asks for the runs of a SESSION: name it", ExitCode.USAGE)
        told = _found_run(arguments)
    else:
        if not arguments.boundary:
            raise KvbenchError("say what the meter measures: --boundary '12 V input'", ExitCode.USAGE)
        told = _attached(arguments)
    if arguments.json:
        told = {"schema_version": SCHEMA_VERSION, "kind": "kvbench external", **told}
        sys.stdout.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.writelines(f"{name}: {value}\n" for name, value in told.items())
    return ExitCode.OK


def _attached(arguments: argparse.Namespace) -> dict[str, object]:
    from kv260_runtime.external.attach import attach_readings, attach_typed, refresh_figures
    from kv260_runtime.external.columns import parse_columns
    from kv260_runtime.external.meter_file import read_readings
    from kv260_runtime.external.typed import ask_afterwards, parse_seconds

    session: Path = arguments.session
    if arguments.typed:
        seconds = parse_seconds(arguments.at) if arguments.at else None
        readings = ask_afterwards(_kept_runs(session), seconds, sys.stdin, sys.stderr)
        if not readings:
            raise KvbenchError("no reading was typed in: the session is as it was", ExitCode.USAGE)
        done = attach_typed(session, readings, arguments.boundary)
    else:
        columns = parse_columns(arguments.columns)
        done = attach_readings(
            session, read_readings(arguments.csv, columns), arguments.csv.name, arguments.boundary, arguments.gain_u
        )
    refresh_figures(session)
    told: dict[str, object] = {"session": str(session), "rail": done.stream.name, "readings": done.readings}
    if done.alignment is not None:
        told["aligned_by"] = done.aligned_by
        told["correlation"] = done.alignment.correlation
        told["clock_rate"] = done.alignment.rate
    return told


def _kept_runs(session: Path) -> list[tuple[str, Window]]:
    """Label and window of each formal run that counts."""
    import numpy as np

    from kv260_runtime.profile.records import run_facts
    from telemetry.session.reader import SessionReader

    found = []
    with SessionReader(session) as source:
        for record in source.runs():
            facts = run_facts(record.id, record.result, None, np.empty(0, np.int64))
            if record.status == "kept" and record.info.phase == "formal" and facts.window is not None:
                found.append((f"{record.info.model}, run {record.info.index + 1}", facts.window))
    return found


def _found_run(arguments: argparse.Namespace) -> dict[str, object]:
    """Energy of the one span that stands out from idle. Raises KvbenchError if there is none."""
    from kv260_runtime.external.columns import parse_columns
    from kv260_runtime.external.lone import lone_run
    from kv260_runtime.external.meter_file import read_readings
    from telemetry.errors import NotCovered

    readings = read_readings(arguments.csv, parse_columns(arguments.columns))
    try:
        return lone_run(readings, arguments.csv.name)
    except NotCovered as reason:
        raise KvbenchError(f"{arguments.csv}: {reason}", ExitCode.NOT_MEASURED) from reason
