"""`kvbench inspect`: what is in an XModel, without a board."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kv260_runtime.cli.options import file_name, number, whole
from kv260_runtime.errors import ExitCode, ModelRejected

HELP = "show what is in compiled models: partition, tensors, memory, DDR traffic, warnings"

EPILOG = """\
Works on any machine and on compiled and quantised files. MB are millions of bytes. DDR traffic is decoded from the
instructions of DPUCZDX8G_ISA1 files, and otherwise estimated from tensor sizes and marked so.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `inspect`."""
    parser.add_argument(
        "models", type=file_name, nargs="+", metavar="MODEL", help="an .xmodel file; several are compared"
    )
    parser.add_argument("--json", action="store_true", help="print JSON (docs/schemas/inspect.schema.json)")
    parser.add_argument("--ops", action="store_true", help="list every operator; with --json, all their attributes")
    parser.add_argument(
        "--subgraph", type=whole(0, 10**6), metavar="I", help="show this top-level subgraph only, counted from 0"
    )
    parser.add_argument(
        "--clock", type=number(1, 10_000), default=300.0, metavar="MHZ",
        help="DPU clock that the lower bound of its time assumes (default: 300)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Read all files, then print; nothing is printed if one of them is bad."""
    from kv260_runtime.model_file import open_model
    from kv260_runtime.report import inspect_json, inspect_text
    from kv260_runtime.xmodel import XModelError
    from kv260_runtime.xmodel.facts import model_facts

    models = []
    for path in arguments.models:
        graph = open_model(path)
        try:
            models.append((graph, model_facts(graph, arguments.clock * 1e6)))
        except XModelError as error:
            raise ModelRejected(str(error)) from error
        _check_subgraph(path, arguments.subgraph, len(graph.subgraphs))
    renderer = inspect_json if arguments.json else inspect_text
    try:
        text = renderer.render(models, arguments.subgraph, arguments.ops)
    except XModelError as error:
        raise ModelRejected(str(error)) from error
    sys.stdout.write(text.rstrip("\n") + "\n")
    return ExitCode.OK


def _check_subgraph(path: Path, index: int | None, count: int) -> None:
    if index is not None and index >= count:
        listed = f"0 to {count - 1}" if count else "none (it is not compiled)"
        raise ModelRejected(f"{path}: has no subgraph {index}; there are {listed}", ExitCode.USAGE)
