"""The telemetry service: records a board until it is told to end; raw samples are kept only where asked."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from telemetry.boards import BoardProfile, board_names, detect_board, load_board
from telemetry.errors import ConfigError, TelemetryError
from telemetry.files import SystemFiles
from telemetry.recording import RecorderPlan, Recording
from telemetry.session import SessionLog
from telemetry.version import VERSION

POLL_SECONDS = 1.0
CONFIG_EXIT_CODE, FAILED_EXIT_CODE = 78, 74


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; sysexits codes."""
    options = _parser().parse_args(arguments)
    ending = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        board = _board(options.board, options.root)
        log = _raw_file(options.raw) if options.raw else None
        # Half for the file that an earlier start left behind.
        ring_bytes = options.raw_max_mb * 1_000_000 // 2
        plan = RecorderPlan(str(options.root), board, str(options.raw) if log else None, ring_bytes=ring_bytes)
        recording = Recording.start(plan)
        for kind, reason in recording.ready.missing.items():
            print(f"{kind}: {reason}", file=sys.stderr)
        print(f"recording {', '.join(recording.ready.streams)} under {recording.ready.realtime}", file=sys.stderr)
        while signal.sigtimedwait(ending, POLL_SECONDS) is None:
            if died := recording.poll():
                raise TelemetryError(died)
        recording.stop()
        if log:
            log.close()
    except TelemetryError as error:
        print(f"kv260-telemetry: {error}", file=sys.stderr)
        return CONFIG_EXIT_CODE if isinstance(error, ConfigError) else FAILED_EXIT_CODE
    return 0


def _board(name: str, root: Path) -> BoardProfile:
    if name != "auto":
        return load_board(name)
    board = detect_board(SystemFiles(), root)
    if board is None:
        raise ConfigError(f"no known board under {root}; name one with --board: {', '.join(board_names())}")
    return board


def _raw_file(path: Path) -> SessionLog:
    """A fresh file; what an earlier start left is kept beside it, because CLOCK_MONOTONIC may have begun anew since."""
    if path.exists():
        path.replace(path.with_name(path.name + ".previous"))
    return SessionLog.create(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kv260-telemetry", description=__doc__)
    parser.add_argument("--board", default="auto", help="profile name or YAML file (default: recognise it)")
    parser.add_argument("--root", type=Path, default=Path("/"), help="folder that holds the board's sys, proc and dev")
    parser.add_argument("--raw", type=Path, metavar="FILE", help="keep raw samples in this session file")
    parser.add_argument(
        "--raw-max-mb",
        type=int,
        default=200,
        metavar="N",
        help="and in FILE.previous, together at most N MB (default 200)",
    )
    parser.add_argument("--version", action="version", version=VERSION)
    return parser


if __name__ == "__main__":
    sys.exit(main())
