"""Opens the virtual board: a folder, a process that plays it, and what other processes need to use it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from virtual_board.board import Settings
from virtual_board.constants import Constants
from virtual_board.errors import BoardLost
from virtual_board.faults import HANG_TIMEOUT_MS, HANGS, NEEDS_FILES
from virtual_board.faulty_files import FaultyFiles, open_files
from virtual_board.options import Options, parse_options
from virtual_board.process import settings_line

PACKAGE = Path(__file__).parent
READY_SECONDS = 20.0
END_SECONDS = 5.0


class VirtualBoard:
    """A running board; the shape of `kv260_runtime.boards.BoardSession`."""

    profile = "kv260"
    label = "virtual KV260"
    emulated = True

    def __init__(self, options: Options, asked: Mapping[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kvboard-", dir=_scratch()))
        self.root = self._folder / "root"
        constants = Constants().drawn(options.seed, options.draw)
        settings = Settings(
            folder=str(self._folder),
            seed=options.seed,
            constants=constants.to_json(),
            timing=options.timing,
            faults=[dataclasses.asdict(fault) for fault in options.faults],
            fingerprint=options.fingerprint,
            log=str(options.log) if options.log else None,
            apm=options.apm,
            power=options.power,
            charged=options.charged,
            parent=os.getpid(),
        )
        self.environment: Mapping[str, str] = _environment(self._folder / "socket", self.root, options)
        needs_files = any(fault.name in NEEDS_FILES for fault in options.faults)
        self.files: str | None = f"{FaultyFiles.__module__}:{open_files.__name__}" if needs_files else None
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = _start(settings)
            self.realtime: str = _await_ready(self._process)["realtime"]
        except BaseException:
            self.close()
            raise
        self.provenance: Mapping[str, Any] = {
            "emulation": "virtual_board",
            "seed": options.seed,
            "options": dict(asked),
            "constants": constants.to_json(),
            "timing": options.timing,
            "event_log": settings.log,
            "realtime": self.realtime,
        }

    def lost(self) -> str | None:
        """Why the board no longer answers; None while its process lives."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return None
        return f"the board process {f'was killed by signal {-code}' if code < 0 else f'ended with code {code}'}"

    def close(self) -> None:
        """End the board process and remove its folder; idempotent."""
        try:
            if self._process is not None:
                _end(self._process)
        finally:
            self._process = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> VirtualBoard:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def open_board(options: Mapping[str, str]) -> VirtualBoard:
    """Open a board (docs/virtual-board.md lists the options); VirtualBoardError on a wrong one."""
    return VirtualBoard(parse_options(options), options)


def _scratch() -> str:
    """Memory rather than disk, where there is any."""
    shared = "/dev/shm"
    return shared if os.access(shared, os.W_OK | os.X_OK) else tempfile.gettempdir()


def _environment(socket_path: Path, root: Path, options: Options) -> dict[str, str]:
    def before(folder: Path, variable: str) -> str:
        return os.pathsep.join(filter(None, (str(folder), os.environ.get(variable))))

    environment = {
        "PYTHONPATH": before(PACKAGE / "vendor", "PYTHONPATH"),
        "PATH": before(PACKAGE / "bin", "PATH"),
        "KVBENCH_BOARD_SOCKET": str(socket_path),
        "KVBENCH_ROOT": str(root),
        "KVBENCH_PYTHON": sys.executable,
    }
    if any(fault.name in HANGS for fault in options.faults):
        environment["XLNX_DPU_TIMEOUT"] = str(HANG_TIMEOUT_MS)
    return environment


def _start(settings: Settings) -> subprocess.Popen[bytes]:
    # Its own session: Ctrl-C on the terminal is for the parent, which closes the board when it is done with it.
    process = subprocess.Popen(
        [sys.executable, "-m", "virtual_board.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(settings_line(settings))
    process.stdin.flush()
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, which ends it; tell if it had ended by itself, as the tree then vanished under its readers."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    reason = process.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
    if process.returncode and reason:
        print(f"virtual_board: the board process failed: {reason}", file=sys.stderr)
    process.stdout.close()
    process.stderr.close()


def _await_ready(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None and process.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(READY_SECONDS) else b""
    if not line:
        process.kill()
        detail = process.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
        process.wait()
        raise BoardLost(f"the virtual board did not start: {detail or f'no answer in {READY_SECONDS:.0f} s'}")
    ready: dict[str, Any] = json.loads(line)
    return ready
