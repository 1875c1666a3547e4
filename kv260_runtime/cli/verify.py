"""`kvbench verify`: the same inputs on a board's DPU and on the executor, and the first tensor that differs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kv260_runtime.cli import board as board_options
from kv260_runtime.cli.options import file_name, whole
from kv260_runtime.errors import ExitCode

if TYPE_CHECKING:
    from kv260_runtime.verify.comparing import TensorComparison
    from kv260_runtime.verify.verifying import Boundary

SCHEMA_VERSION = 1
"""1: first version."""

EPILOG = """\
Exit code 0: every tensor is equal (float tensors within 1e-6); 3: one differs; 5: the board gave no result.

  kvbench verify model.xmodel                                on this board, random inputs
  kvbench verify model.xmodel --input in.npz --json
  kvbench verify model.xmodel --board virtual --board-option fault=bit-flip
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `verify`."""
    parser.add_argument("model", type=file_name, metavar="MODEL", help="a compiled XModel")
    board_options.add_arguments(parser)
    parser.add_argument(
        "--input", type=file_name, metavar="FILE.npz", help="the model's inputs by tensor name, as stored"
    )
    parser.add_argument(
        "--seed", type=whole(0, 2**31), default=0, metavar="N", help="of the random inputs (default: 0)"
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Compare, print, and say by the exit code whether all is equal."""
    from kv260_runtime.accelerators.vendor import FINGERPRINT_VARIABLE
    from kv260_runtime.cli.run import load_arrays
    from kv260_runtime.model_file import open_model
    from kv260_runtime.profile.identity import query_dpu
    from kv260_runtime.verify.verifying import make_jobs, run_on_board

    graph = open_model(arguments.model)
    given = None if arguments.input is None else load_arrays(arguments.input)
    jobs, notes = make_jobs(graph, given, arguments.seed)
    board, _ = board_options.open_board(arguments.board, arguments.board_option)
    with closing(board):
        environment = {**os.environ, **board.environment}
        loaded = (query_dpu(environment) or {}).get("fingerprint")
        boundaries = run_on_board(arguments.model, jobs, {**environment, FINGERPRINT_VARIABLE: str(loaded or "")})
    for note in notes:
        print(f"kvbench: note: {note}", file=sys.stderr)
    source = str(arguments.input) if arguments.input else f"random, seed {arguments.seed}"
    told = _as_json(arguments.model, board.label, board.emulated, source, boundaries, notes)
    print(json.dumps(told, indent=2, ensure_ascii=False) if arguments.json else _as_text(board.label, boundaries))
    return ExitCode.OK if told["first_difference"] is None else ExitCode.REGRESSION


def _as_text(label: str, boundaries: list[Boundary]) -> str:
    lines = [
        f"{boundary.job.label}: {tensor.name}: {_outcome(tensor)}"
        for boundary in boundaries
        for tensor in boundary.tensors
    ]
    first = next((one for one in boundaries if one.first_difference is not None), None)
    if first is None or first.first_difference is None:
        return "\n".join([*lines, f"{label} computes what the executor computes"])
    return "\n".join([*lines, f"first difference: {first.job.label}, {first.first_difference.name}"])


def _outcome(tensor: TensorComparison) -> str:
    if tensor.fault is not None:
        return tensor.fault
    if tensor.is_equal:
        return f"{tensor.elements} elements equal"
    by = "" if tensor.largest is None else f" by at most {tensor.largest:g}"
    return f"{tensor.differing} of {tensor.elements} elements differ{by}, first at {list(tensor.first or ())}"


def _as_json(
    model: Path, label: str, emulated: bool, source: str, boundaries: list[Boundary], notes: list[str]
) -> dict[str, Any]:
    listed = [
        {
            "runner": boundary.job.runner,
            "subgraph": boundary.job.subgraph,
            "tensors": [
                {
                    "name": tensor.name,
                    "dtype": tensor.dtype,
                    "elements": tensor.elements,
                    "differing": tensor.differing,
                    "largest_difference": tensor.largest,
                    "first_index": None if tensor.first is None else list(tensor.first),
                    "fault": tensor.fault,
                }
                for tensor in boundary.tensors
            ],
        }
        for boundary in boundaries
    ]
    differing = [
        {"runner": one.job.runner, "subgraph": one.job.subgraph, "tensor": one.first_difference.name}
        for one in boundaries
        if one.first_difference is not None
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "kvbench verify",
        "model": str(model),
        "board": label,
        "emulated": emulated,
        "input": source,
        "boundaries": listed,
        "first_difference": differing[0] if differing else None,
        "notes": notes,
    }
