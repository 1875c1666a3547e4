"""`kvbench replay`: the figures of a session computed anew from its raw samples, compared bit for bit."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kv260_runtime.errors import ExitCode, KvbenchError

if TYPE_CHECKING:
    from kv260_runtime.profile.replay import Difference

SHOWN = 20
"""Differences printed; --json has all of them."""

EPILOG = """\
exit codes: 0 every figure is the same to the last bit, 3 some differ, 4 the session stores no figures
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `replay`."""
    parser.add_argument("session", type=Path, metavar="FILE", help="a session file of kvbench profile")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Say whether the figures are the same, and which are not."""
    from kv260_runtime.profile.evaluate import evaluate
    from kv260_runtime.profile.replay import META_KEY, differences, figures_of, replay_json
    from telemetry.session.reader import SessionReader

    with SessionReader(arguments.session) as source:
        stored = source.meta().get(META_KEY)
    if stored is None:
        raise KvbenchError(
            f"{arguments.session} stores no figures to compare with (interrupted, or made by an older kvbench); "
            "kvbench report computes them",
            ExitCode.INCONCLUSIVE,
        )
    computed = figures_of(evaluate(arguments.session))
    found = list(differences(stored, computed))
    if arguments.json:
        told = replay_json(str(arguments.session), stored, computed, found)
        sys.stdout.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(_in_words(stored, computed, found))
    return ExitCode.REGRESSION if found else ExitCode.OK


def _in_words(stored: Mapping[str, Any], computed: Mapping[str, Any], found: list[Difference]) -> str:
    from kv260_runtime.profile.replay import count

    makers = f"stored by {_maker(stored)}, computed by {_maker(computed)}"
    if not found:
        return f"equal: all {count(computed)} figures are the same to the last bit ({makers})\n"
    lines = [f"{one.place}: stored {_value(one.stored)}, computed {_value(one.computed)}" for one in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"and {len(found) - SHOWN} more (--json lists all)")
    return "\n".join([f"different: {len(found)} of {count(computed)} figures ({makers})", *lines]) + "\n"


def _maker(figures: Mapping[str, Any]) -> str:
    known = figures.get("computed_by", {})
    return f"kvbench {known.get('kvbench', '?')}, numpy {known.get('numpy', '?')} on {known.get('machine', '?')}"


def _value(value: float | None) -> str:
    return "absent" if value is None else repr(value)
