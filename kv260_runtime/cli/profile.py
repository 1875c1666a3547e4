"""`kvbench profile`: what compiled models cost, over several runs, on one board."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import ExitStack, closing, nullcontext, suppress
from datetime import datetime
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kv260_runtime.cli import board as board_options
from kv260_runtime.cli import meter
from kv260_runtime.cli.options import check_arrays, file_name, number, whole
from kv260_runtime.errors import BoardUnavailable, ExitCode, KvbenchError, RunFailed
from kv260_runtime.profile.plan import ORDERS
from kv260_runtime.workloads import WorkloadSpec
from telemetry.errors import RecorderEnded, SessionError, TelemetryError

if TYPE_CHECKING:
    from kv260_runtime.profile.job import ProfileJob, ProfileOptions
    from kv260_runtime.profile.progress import Progress

DEMO_GROUP = "kvbench.models"
DURATION_SECONDS = 60.0

EPILOG = """\
examples:
  kvbench profile a.xmodel b.xmodel                   on this board: five runs of 60 s each, in turn
  kvbench profile a.xmodel --board virtual            on an emulated KV260, anywhere
  kvbench profile --demo --board virtual --runs 2 --duration 10
  kvbench profile a.xmodel --workload dpu --executions 2500
  kvbench profile a.xmodel --external meter.csv --external-columns time=t,power=P --external-boundary "12 V input"
  kvbench profile a.xmodel -- xdputil benchmark {model} -i -1 1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `profile`."""
    parser.add_argument(
        "models", nargs="*", type=file_name, metavar="MODEL", help="compiled XModel files, compared in turn"
    )
    parser.add_argument("--demo", action="store_true", help="profile the two demo models instead of MODEL")
    board_options.add_arguments(parser)
    _add_workload(parser)
    _add_plan(parser)
    meter.add_arguments(parser)
    parser.add_argument(
        "--out", type=file_name, metavar="FILE", help="the session file to create (default: a name by date)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON instead of a table")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _add_workload(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("workload")
    group.add_argument(
        "--workload",
        choices=("graph", "dpu", "xdputil"),
        default="graph",
        help="graph: the whole XModel through GraphRunner; dpu: one DPU subgraph through vart; "
        "xdputil: the vendor's benchmark of the whole XModel (default: graph)",
    )
    group.add_argument("--subgraph", type=whole(0, 10_000), metavar="I", help="the subgraph to run (dpu, xdputil)")
    group.add_argument("--threads", type=whole(1, 64), default=1, metavar="N", help="runners in parallel (default: 1)")
    group.add_argument(
        "--input", type=file_name, metavar="FILE", help=".npz with one array per input (default: 4 random ones)"
    )
    group.add_argument("--input-seed", type=whole(0, 2**31), default=0, metavar="N", help="seed of the random inputs")
    group.add_argument("--begin", metavar="REGEX", help="with -- COMMAND: its line that begins the measured window")
    group.add_argument("--end", metavar="REGEX", help="with -- COMMAND: its line that ends the measured window")
    group.add_argument(
        "--count", metavar="REGEX", help="with -- COMMAND: a line per execution, or with a group the number of them"
    )


def _add_plan(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("plan")
    group.add_argument(
        "--runs", type=whole(1, 1000), default=5, metavar="N", help="formal runs of each model (default: 5)"
    )
    group.add_argument(
        "--duration", type=number(0.5, 86_400), metavar="S", help=f"seconds a run lasts (default: {DURATION_SECONDS:g})"
    )
    group.add_argument(
        "--executions", type=whole(1, 10**9), metavar="N", help="end a run after N executions instead (graph, dpu)"
    )
    group.add_argument("--smoke", type=whole(0, 100), default=1, metavar="N", help="smoke runs per model, not counted")
    group.add_argument(
        "--idle", type=number(0, 3600), default=3.0, metavar="S", help="seconds idle before and after a run"
    )
    group.add_argument(
        "--trim", type=number(0, 3600), default=1.0, metavar="S", help="seconds cut off each end of a run"
    )
    group.add_argument("--order", choices=ORDERS, default="alternate", help="order of formal runs (default: alternate)")
    group.add_argument(
        "--repeats",
        type=whole(0, 100),
        default=3,
        metavar="N",
        help="excluded runs of a model repeated at most (default: 3)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the result, and say by the exit code whether there is one."""
    _check(arguments)
    with ExitStack() as stack:
        models = _models(arguments, stack)
        return _profile(arguments, models, stack)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.demo and arguments.models:
        raise KvbenchError("--demo brings its own models; leave MODEL out", ExitCode.USAGE)
    if not (arguments.models or arguments.demo or arguments.rest):
        raise KvbenchError("name a MODEL, or --demo, or -- COMMAND (kvbench profile --help)", ExitCode.USAGE)
    if arguments.executions and (arguments.rest or arguments.workload == "xdputil"):
        raise KvbenchError("--executions goes with the graph and dpu workloads only", ExitCode.USAGE)
    if arguments.rest and arguments.duration is not None:
        print("kvbench: note: --duration: a run of -- COMMAND lasts as long as the command does", file=sys.stderr)
    if arguments.duration is None:
        arguments.duration = DURATION_SECONDS
    if not arguments.executions and 2 * arguments.trim >= arguments.duration:
        raise KvbenchError(
            f"--trim {arguments.trim:g} leaves nothing of --duration {arguments.duration:g}", ExitCode.USAGE
        )
    if arguments.rest and arguments.models and not any("{model}" in word for word in arguments.rest):
        raise KvbenchError("with MODEL and -- COMMAND, the command needs {model} where the path goes", ExitCode.USAGE)
    if (arguments.begin or arguments.end or arguments.count) and not arguments.rest:
        raise KvbenchError("--begin, --end and --count go with -- COMMAND", ExitCode.USAGE)
    meter.check(arguments)
    if arguments.input is not None:
        check_arrays(arguments.input)
    program = arguments.rest[0] if arguments.rest else ""
    if "/" in program and "{model}" not in program and not os.access(program, os.X_OK):
        raise KvbenchError(f"{program}: no such program, or this user may not run it", ExitCode.NO_INPUT)


def _models(arguments: argparse.Namespace, stack: ExitStack) -> list[Path]:
    if not arguments.demo:
        return list(arguments.models)
    for point in entry_points(group=DEMO_GROUP):
        if point.name == "demo":
            folder = stack.enter_context(TemporaryDirectory(prefix="kvbench-demo-"))
            return list(point.load()(Path(folder)))
    raise KvbenchError("no installed package offers demo models", ExitCode.UNAVAILABLE)


def _spec(arguments: argparse.Namespace) -> WorkloadSpec:
    patterns = {name: getattr(arguments, name) for name in ("begin", "end", "count") if getattr(arguments, name)}
    return WorkloadSpec(
        kind="command" if arguments.rest else arguments.workload,
        subgraph=arguments.subgraph,
        threads=arguments.threads,
        input=arguments.input,
        seed=arguments.input_seed,
        command=tuple(arguments.rest),
        patterns=patterns,
    )


def _profile(arguments: argparse.Namespace, models: list[Path], stack: ExitStack) -> int:
    from kv260_runtime.profile.job import ProfileJob
    from kv260_runtime.profile.progress import Progress
    from kv260_runtime.profile.subjects import command_subject, model_subject, with_unique_names
    from kv260_runtime.workloads import open_workload
    from telemetry.clock import SystemClock

    spec = _spec(arguments)
    open_workload(spec)
    subjects = with_unique_names([model_subject(path, spec) for path in models] or [command_subject(spec)])
    options = _options(arguments)
    board, profile = board_options.open_board(arguments.board, arguments.board_option)
    stack.callback(board.close)
    clock = SystemClock()
    plan = meter.plan(arguments, clock)
    progress = Progress(sys.stderr, clock, quiet=arguments.quiet, live=plan.prompter is None)
    progress.note(f"measuring on {board.label}; session file {options.session}")
    job = ProfileJob(options, subjects, board, profile, clock, progress, plan.tick)
    try:
        return _measure(arguments, job, options.session, plan, progress)
    except KeyboardInterrupt:
        # Only the board is left to be closed, which takes a moment; impatience would lose the line below.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if not job.begun:
            raise
        raise KvbenchError(
            f"interrupted; `kvbench report {options.session}` shows what was kept", ExitCode.INTERRUPTED
        ) from None


def _measure(
    arguments: argparse.Namespace, job: ProfileJob, session: Path, plan: meter.MeterPlan, progress: Progress
) -> int:
    """Make the runs and print their figures. An interruption ends the runs; a second one ends the figures, too."""
    from kv260_runtime.profile.evaluate import evaluate
    from kv260_runtime.profile.replay import META_KEY, figures_of
    from kv260_runtime.report import renderer
    from telemetry.session.log import SessionLog

    interrupted, broken = False, None
    try:
        job.run()
    except KeyboardInterrupt:
        if not job.begun:
            raise
        interrupted = True
    except (TelemetryError, BoardUnavailable) as error:
        if not job.finished:
            raise
        broken = error
    trouble = None if broken else plan.attach(session, progress.note)
    result = evaluate(session)
    with suppress(SessionError) if broken else nullcontext(), closing(SessionLog.open(session)) as log:
        log.put_meta(META_KEY, figures_of(result))
    sys.stdout.write(renderer("json" if arguments.json else "table")(result) + ("\n" if arguments.json else ""))
    sys.stdout.flush()
    if interrupted:
        raise KeyboardInterrupt
    if broken is not None:
        raise _cut_off(broken, session, any(model.kept for model in result.models))
    if trouble is not None:
        raise trouble
    bare = [model.name for model in result.models if model.kept == 0]
    if bare:
        raise RunFailed(f"no run of {', '.join(bare)} deserves a number; the reasons are above and in {session}")
    return ExitCode.OK


def _cut_off(error: TelemetryError | BoardUnavailable, session: Path, kept: bool) -> KvbenchError:
    """What is said after the figures of a session whose recorder or file failed before its last run."""
    if not kept and isinstance(error, RecorderEnded):
        return RunFailed(f"{error}; no run was kept until then (`kvbench report {session}` shows them again)")
    return KvbenchError(
        f"{error}; figures are of the runs made until then; `kvbench report {session}` shows them again",
        ExitCode.UNAVAILABLE if isinstance(error, BoardUnavailable) else ExitCode.IO_ERROR,
    )


def _options(arguments: argparse.Namespace) -> ProfileOptions:
    from kv260_runtime.profile.job import ProfileOptions

    session = arguments.out or Path(f"kvbench-{datetime.now().astimezone():%Y%m%d-%H%M%S}.kvs")
    return ProfileOptions(
        runs=arguments.runs,
        smoke=arguments.smoke,
        duration_ns=round(arguments.duration * 1e9),
        idle_ns=round(arguments.idle * 1e9),
        trim_ns=round(arguments.trim * 1e9),
        executions=arguments.executions,
        order=arguments.order,
        repeats=arguments.repeats,
        session=session,
        pulse=arguments.pulse or arguments.external is not None,
    )
