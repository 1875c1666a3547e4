"""Options of `profile` for a power meter beside the board: its file, or readings typed in at prompts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kv260_runtime.errors import ExitCode, KvbenchError

if TYPE_CHECKING:
    from kv260_runtime.external.columns import Columns
    from kv260_runtime.external.typed import Prompter
    from telemetry.clock import Clock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options, as a group of their own."""
    group = parser.add_argument_group("power meter beside the board")
    group.add_argument(
        "--external",
        type=Path,
        metavar="FILE.csv",
        help="what the meter wrote, read after the last run; implies --pulse",
    )
    group.add_argument(
        "--external-columns",
        default="time=time,power=power",
        metavar="KEY=NAME,...",
        help="its columns by name or number: time, power or volts and amperes, unit=mW and the like "
        "(default: time=time,power=power)",
    )
    group.add_argument(
        "--external-boundary", metavar="TEXT", help="what the meter measures, e.g. '12 V input'; stands in every figure"
    )
    group.add_argument(
        "--external-prompt", metavar="S,S,...", help="ask for a reading of its display at these seconds of each run"
    )
    group.add_argument(
        "--pulse", action="store_true", help="begin with a load pattern by which kvbench external finds a meter's clock"
    )


def check(arguments: argparse.Namespace) -> None:
    """Refuse what does not go together. Raises KvbenchError."""
    if arguments.external and arguments.external_prompt:
        raise KvbenchError("--external reads a file and --external-prompt asks: give one of them", ExitCode.USAGE)
    if (arguments.external or arguments.external_prompt) and not arguments.external_boundary:
        raise KvbenchError("say what the meter measures: --external-boundary '12 V input'", ExitCode.USAGE)


@dataclass(frozen=True)
class MeterPlan:
    """What is to be done about a meter during a session and after it."""

    boundary: str
    file: Path | None = None
    columns: Columns | None = None
    prompter: Prompter | None = None

    def tick(self, phase: str) -> None:
        """Called a few times a second during the runs."""
        if self.prompter is not None:
            self.prompter.tick(phase)

    def attach(self, session: Path, note: Callable[[str], None]) -> KvbenchError | None:
        """Add the meter's readings to the session; what went wrong with them, since the session stands without them."""
        from kv260_runtime.external.attach import attach_readings, attach_typed
        from kv260_runtime.external.meter_file import read_readings

        try:
            if self.prompter is not None and self.prompter.readings:
                attach_typed(session, self.prompter.readings, self.boundary)
            elif self.prompter is not None:
                note("no reading of the meter was typed in")
            if self.file is not None and self.columns is not None:
                attach_readings(session, read_readings(self.file, self.columns), self.file.name, self.boundary)
        except KvbenchError as error:
            return KvbenchError(f"{error} (the session stands; see kvbench external {session})", error.exit_code)
        return None


def plan(arguments: argparse.Namespace, clock: Clock) -> MeterPlan:
    """From the options. Raises KvbenchError before anything is measured."""
    from kv260_runtime.external.attach import rail_name
    from kv260_runtime.external.columns import parse_columns
    from kv260_runtime.external.typed import Prompter, parse_seconds

    boundary = arguments.external_boundary or ""
    if boundary:
        rail_name(boundary)
    if arguments.external_prompt:
        seconds = parse_seconds(arguments.external_prompt)
        return MeterPlan(boundary, prompter=Prompter(seconds, clock, sys.stdin, sys.stderr))
    if arguments.external:
        return MeterPlan(boundary, arguments.external, parse_columns(arguments.external_columns))
    return MeterPlan(boundary)
