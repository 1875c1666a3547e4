"""`kvbench compare`: whether one model costs more than another, or than itself some sessions ago."""

from __future__ import annotations

import argparse
import json
import sys

from kv260_runtime.cli.options import number
from kv260_runtime.errors import ExitCode, KvbenchError

EPILOG = """\
examples:
  kvbench compare session.kvs                                the two models of one session, in pairs of runs
  kvbench compare base.kvs new.kvs --fail-on energy:+1%      two sessions; exit code 3 if energy grew by more
  kvbench compare base.kvs:yolo new.kvs:yolo-rewritten --fail-on throughput:-2% --fail-on memory:+0.5%
  kvbench compare mon.kvs,tue.kvs wed.kvs,thu.kvs            several sessions show how sessions spread
  kvbench compare session.kvs --plan energy:2%               how many runs would find 2 %

metrics: throughput, latency, energy, energy_above_idle, power, efficiency, memory, bandwidth, busy, cpu,
  or any figure of docs/figures.md
exit codes: 0 every limit is kept, 3 one is exceeded, 4 one can be neither kept nor exceeded with these runs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `compare`."""
    parser.add_argument("before", metavar="A[:MODEL]", help="a session file, or several with commas between them")
    parser.add_argument(
        "after", nargs="?", metavar="B[:MODEL]", help="what is compared with it (default: the second model of A)"
    )
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="METRIC:+X%",
        help="a limit: +X%% forbids more growth, -X%% more loss; may be repeated",
    )
    parser.add_argument(
        "--plan",
        action="append",
        default=[],
        metavar="METRIC:X%",
        help="say how many runs of which length would find a change of X%%; may be repeated",
    )
    parser.add_argument(
        "--session-spread",
        type=number(0, 50),
        metavar="X",
        help="percent by which sessions differ beyond their runs, where one a side cannot show it (default: 0.3)",
    )
    parser.add_argument(
        "--same-board", action="store_true", help="both were measured on one unit, so that its sensor's error cancels"
    )
    parser.add_argument("--force", action="store_true", help="compare boards or boundaries that are not the same")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison and the plans; the exit code is the worst verdict."""
    from kv260_runtime.compare import text
    from kv260_runtime.compare.comparing import SESSION_SPREAD, Assumptions, compare
    from kv260_runtime.compare.json import as_json
    from kv260_runtime.compare.planner import make_plan, parse_wanted
    from kv260_runtime.compare.sides import open_sides, parse_side
    from kv260_runtime.profile.evaluate import evaluate
    from telemetry.comparison import parse_limit
    from telemetry.errors import ConfigError

    try:
        limits = [parse_limit(word) for word in arguments.fail_on]
    except ConfigError as error:
        raise KvbenchError(f"--fail-on {error}", ExitCode.USAGE) from error
    spread = SESSION_SPREAD if arguments.session_spread is None else arguments.session_spread / 100
    assumed = Assumptions(spread, arguments.same_board)
    wanted = [parse_wanted(word) for word in arguments.plan]
    first, second = parse_side(arguments.before), parse_side(arguments.after) if arguments.after else None
    before, after = open_sides(first, second, evaluate, alone=bool(wanted))
    result = None if after is None else compare(before, after, limits, assumed, arguments.force)
    plans = [make_plan(one, before, after, limits, assumed) for one in wanted]
    if arguments.json:
        sys.stdout.write(json.dumps(as_json(result, plans), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        parts = ([] if result is None else [text.render(result)]) + [text.render_plan(one) for one in plans]
        sys.stdout.write("\n".join(parts))
    return ExitCode.OK if result is None else result.exit_code
