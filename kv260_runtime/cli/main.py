"""`kvbench`: finds the subcommand, and turns every fault into one line and a documented exit code."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType

from kv260_runtime.cli import streams
from kv260_runtime.cli.parser import Parser
from kv260_runtime.errors import ExitCode, KvbenchError, one_line
from telemetry.errors import (
    ConfigError,
    SensorNotFound,
    SessionExists,
    SessionMissing,
    SessionUnreadable,
    TelemetryError,
)
from telemetry.version import VERSION

COMMANDS: Mapping[str, tuple[str, str]] = {
    "profile": (
        "kv260_runtime.cli.profile",
        "measure what compiled models cost: executions, joules, megabytes, busy time",
    ),
    "run": ("kv260_runtime.cli.run", "execute a model off the board, bit for bit as the DPU would"),
    "inspect": (
        "kv260_runtime.cli.inspect",
        "show what is in compiled models: partition, tensors, memory, DDR traffic, warnings",
    ),
    "verify": ("kv260_runtime.cli.verify", "compare what a board's DPU computes with the executor, tensor by tensor"),
    "report": ("kv260_runtime.cli.report", "show a session that was recorded earlier, in any format"),
    "compare": ("kv260_runtime.cli.compare", "say whether one model costs more than another, and judge limits"),
    "external": ("kv260_runtime.cli.external", "add a power meter's file, or readings typed in, to a session"),
    "export": ("kv260_runtime.cli.export", "write a session's raw samples as CSV, NPZ or Parquet"),
    "fold": ("kv260_runtime.cli.fold", "tell what each subgraph of a model costs, from a session of many executions"),
    "doctor": ("kv260_runtime.cli.doctor", "say what this board offers, what is missing, and the remedy"),
    "top": ("kv260_runtime.cli.top", "show DPU, cores, rails and memory traffic live"),
    "mark": ("kv260_runtime.cli.mark", "name this instant in whatever records the board now"),
    "replay": ("kv260_runtime.cli.replay", "compute a session's figures anew from its samples and compare them"),
}
"""Subcommand to its module and one line of help; the module is imported only when the command is used.

The module offers `add_arguments(parser)` and `run(arguments) -> int`.
"""

DEBUG = "KVBENCH_DEBUG"
"""Environment variable that shows the traceback of an internal error."""

TELEMETRY_CODES: Mapping[type[TelemetryError], ExitCode] = {
    ConfigError: ExitCode.CONFIG,
    SensorNotFound: ExitCode.UNAVAILABLE,
    SessionMissing: ExitCode.NO_INPUT,
    SessionUnreadable: ExitCode.BAD_DATA,
    SessionExists: ExitCode.CANNOT_CREATE,
}
"""Any other error of telemetry is one of reading or writing."""

DESCRIPTION = """\
Measures what a compiled neural network costs on an edge board: executions per second, joules and megabytes per
execution, how busy the DPU and each core are.

Without a board, `--board virtual` measures an emulated KV260 and says so in every result.
"""


def build_parser(command: str | None = None) -> Parser:
    """The whole parser; only `command`'s module is imported, all of them if it is None."""
    parser = Parser(
        prog="kvbench",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="`kvbench COMMAND --help` explains one command; exit codes are listed in docs/exit-codes.md.",
    )
    parser.add_argument("--version", action="version", version=f"kvbench {VERSION}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module_name, summary) in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        if command in (None, name):
            module = import_module(module_name)
            subparser.epilog = getattr(module, "EPILOG", None)
            module.add_arguments(subparser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is an ExitCode (docs/exit-codes.md)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        streams.prepare()
        options = _parse(given)
        module_name, _ = COMMANDS[options.command]
        with _signals_interrupt():
            code = int(import_module(module_name).run(options))
        sys.stdout.flush()
        return code
    except KvbenchError as error:
        return _fail(str(error), error.exit_code)
    except TelemetryError as error:
        return _fail(str(error), exit_code_of(error))
    except KeyboardInterrupt:
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output (head, less) went away, which is its right.
        streams.discard_output()
        return ExitCode.OK
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _fail(f"internal error: {type(error).__name__}: {error} (set {DEBUG}=1 to see where)", ExitCode.SOFTWARE)


def exit_code_of(error: TelemetryError) -> ExitCode:
    """The code of an error of telemetry, whichever command met it."""
    return next((code for kind, code in TELEMETRY_CODES.items() if isinstance(error, kind)), ExitCode.IO_ERROR)


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does, with whatever it cleans up then; nohup's choice stands."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    ours = [number for number, handler in before.items() if handler == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _parse(given: list[str]) -> argparse.Namespace:
    """Parse, with argparse's own exit code 2 turned into EX_USAGE."""
    command = next((word for word in given if not word.startswith("-")), None)
    parser = build_parser(command if command in COMMANDS else "")
    own, rest = _split_command(given)
    try:
        options = parser.parse_args(own)
    except SystemExit as ending:
        sys.stdout.flush()
        raise SystemExit(ExitCode.USAGE if ending.code == 2 else ending.code) from None
    options.rest = rest
    return options


def _split_command(given: list[str]) -> tuple[list[str], list[str]]:
    """Everything after the first `--` is an external command, options of its own included."""
    if "--" not in given:
        return given, []
    cut = given.index("--")
    return given[:cut], given[cut + 1 :]


def _fail(message: str, code: ExitCode) -> ExitCode:
    """One line on stderr, whatever the message holds."""
    print(f"kvbench: {one_line(message)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
