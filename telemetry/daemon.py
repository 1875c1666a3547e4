"""kv260-telemetry: owns a board's sensors, day and night, and offers what they say over HTTP and a Unix socket."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from telemetry.boards import BoardProfile, board_names, detect_board, load_board
from telemetry.client import SOCKET, socket_path
from telemetry.clock import SystemClock
from telemetry.errors import CannotCreate, ConfigError, SessionExists, TelemetryError
from telemetry.files import SystemFiles
from telemetry.notify import Notifier
from telemetry.readers.sensor_file import text
from telemetry.version import VERSION

USAGE_EXIT_CODE, CANNOT_CREATE_EXIT_CODE, FAILED_EXIT_CODE, CONFIG_EXIT_CODE = 64, 73, 74, 78
MOST_MINUTES = 120.0
LEAST_RAW_MB = 2


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; sysexits codes."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as ending:
        raise SystemExit(USAGE_EXIT_CODE if ending.code == 2 else ending.code) from None
    try:
        _serve(options)
    except TelemetryError as error:
        print(f"kv260-telemetry: {error}", file=sys.stderr)
        if isinstance(error, (CannotCreate, SessionExists)):
            return CANNOT_CREATE_EXIT_CODE
        return CONFIG_EXIT_CODE if isinstance(error, ConfigError) else FAILED_EXIT_CODE
    return 0


def _serve(options: argparse.Namespace) -> None:
    # Later than the arguments, because they take a second to import on a board.
    from telemetry.exporter import metrics_app
    from telemetry.service import web
    from telemetry.service.loop import Service, ServiceOptions

    chosen = ServiceOptions(
        root=options.root,
        socket=options.socket or _default_socket(options.root),
        raw=options.raw,
        # Half for the files that earlier starts left behind.
        ring_bytes=round(options.raw_max_mb * 500_000),
        history_ns=round(options.history_minutes * 60e9),
        emulated=_is_emulated(options.root),
        files=options.files,
    )
    service = Service(chosen, lambda: _board(options.board, options.root), SystemClock(), Notifier())
    server = web.start(options.listen, metrics_app(lambda: service.state), lambda: service.state)
    service.start()
    print(f"metrics on http://{server.server_name or 'localhost'}:{server.server_port}/", file=sys.stderr, flush=True)
    service.run()


def _default_socket(root: Path) -> Path:
    """Where clients look for it, the only place whose folder is made; one that was named must be there."""
    path = socket_path(root)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{path.parent}: {error.strerror or error}; name another place with --socket") from error
    return path


def _board(name: str, root: Path) -> BoardProfile:
    if name != "auto":
        return load_board(name)
    board = detect_board(SystemFiles(), root)
    if board is None:
        raise ConfigError(f"no known board under {root}; name one with --board: {', '.join(board_names())}")
    return board


def _is_emulated(root: Path) -> bool:
    """Whether the tree says of itself, where a kernel names its build, that no hardware is behind it."""
    return "(emulated)" in (text(SystemFiles(), root / "proc/version") or "")


def _between(low: float, high: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not from {low:g} to {high:g}")
        return value

    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kv260-telemetry", description=__doc__)
    parser.add_argument("--board", default="auto", help="profile name or YAML file (default: recognise it)")
    parser.add_argument("--root", type=Path, default=Path("/"), help="folder that holds the board's sys, proc and dev")
    parser.add_argument(
        "--listen",
        default=":9487",
        metavar="[HOST]:PORT",
        help="where metrics are served; 127.0.0.1:9487 keeps them to this machine (default :9487)",
    )
    parser.add_argument(
        "--history-minutes",
        type=_between(0.1, MOST_MINUTES),
        default=10.0,
        metavar="N",
        help="how far back clients may ask for energy and bytes (default 10)",
    )
    parser.add_argument(
        "--socket", type=Path, metavar="PATH", help=f"where clients connect (default: {SOCKET} under the root)"
    )
    parser.add_argument("--files", metavar="MODULE:CALLABLE", help="file access of an emulated board")
    parser.add_argument(
        "--raw", type=Path, metavar="FILE", help="keep raw samples in this session file, in a folder that exists"
    )
    parser.add_argument(
        "--raw-max-mb",
        type=_between(LEAST_RAW_MB, 1e6),
        default=200.0,
        metavar="N",
        help="with those of earlier starts in FILE.1, FILE.2, ... at most N MB; the oldest go first (default 200)",
    )
    parser.add_argument("--version", action="version", version=VERSION)
    return parser


if __name__ == "__main__":
    sys.exit(main())
