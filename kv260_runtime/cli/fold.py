"""`kvbench fold`: joules of each subgraph of a model, from a session recorded earlier."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kv260_runtime.errors import ExitCode

if TYPE_CHECKING:
    from kv260_runtime.profile.folding import ModelFolding

EPILOG = """\
needs sessions of --workload graph or dpu with one thread, and subgraphs longer than the sensor's averaging time
(8.8 ms on a KV260); minutes of executions tell them apart. What cannot be told apart is refused with the reason.

examples:
  kvbench profile model.xmodel --runs 3 --out session.kvs
  kvbench fold session.kvs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `fold`."""
    parser.add_argument("session", type=Path, metavar="FILE", help="a session file of kvbench profile")
    parser.add_argument("--json", action="store_true", help="print JSON (docs/schemas/fold.schema.json)")


def run(arguments: argparse.Namespace) -> int:
    """Fold, print, and say by the exit code whether any part has a figure."""
    from kv260_runtime.profile.folding import fold_session, folding_json

    models = fold_session(arguments.session)
    if arguments.json:
        told = folding_json(str(arguments.session), models)
        sys.stdout.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(line for model in models for line in _lines(model)) + "\n")
        if not models:
            print("kvbench: the session has no power rail to fold", file=sys.stderr)
    return ExitCode.OK if any(model.parts for model in models) else ExitCode.NOT_MEASURED


def _lines(one: ModelFolding) -> Iterator[str]:
    from kv260_runtime.report.columns import aligned

    yield f"{one.model}, rail {one.rail}: per execution, {len(one.runs)} runs folded"
    if one.joules is not None and one.total_joules is not None:
        rows = [["part", "ms", "W", "+- W", "mJ", "+- mJ", "share [%]"]]
        for part in one.parts:
            joules, watts = part.joules, part.watts
            share = 100 * joules.value / one.joules.value
            cells = (watts.value, watts.half_width, 1e3 * joules.value, 1e3 * joules.half_width)
            rows.append([part.name, f"{part.seconds * 1e3:.2f}", *(f"{cell:.3f}" for cell in cells), f"{share:.1f}"])
        whole, half = 1e3 * one.joules.value, 1e3 * one.joules.half_width
        rows.append(["sum", "", "", "", f"{whole:.3f}", f"{half:.3f}", "100.0"])
        rows.append(["by integration", "", "", "", f"{1e3 * one.total_joules:.3f}", "", ""])
        yield from (f"  {line}" for line in aligned(rows))
        yield "  intervals of 95 %, without the gain of the sensor, which all parts share"
    for name, reason in one.refused.items():
        yield f"  {name}: no figure: {reason}"
    dependent = [str(run_id) for run_id, run in one.runs.items() if not run.independent]
    if dependent:
        yield f"  run {', '.join(dependent)}: executions are nearly in step with readings; intervals are too narrow"
