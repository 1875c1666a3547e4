"""The workload's end of the board's socket."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from virtual_board.errors import BoardLost
from virtual_board.plan import Plan
from virtual_board.server import MESSAGE_BYTES

SOCKET_VARIABLE = "KVBENCH_BOARD_SOCKET"
DEFAULT_TIMEOUT_MS = 10_000
"""XLNX_DPU_TIMEOUT's (board facts, 11.1)."""
HOST_NICENESS = -15
"""Below the real-time priority of the board and the recorder, above whatever else the host runs."""


class CommandFailed(OSError):
    """The compute unit did not complete a command; the text is `timeout` or `aborted`."""


class Connection:
    """One client of the board. A thread at a time."""

    def __init__(self, role: str = "workload") -> None:
        path = os.environ.get(SOCKET_VARIABLE)
        if not path:
            raise BoardLost(f"{SOCKET_VARIABLE} is not set: start this process with the virtual board's environment")
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A runner that is let go leaves the board; one that is held until the end leaves it with the process.
        weakref.finalize(self, self._socket.close).atexit = False
        try:
            self._socket.connect(path)
        except OSError as error:
            raise BoardLost(f"the virtual board at {path} does not answer: {error.strerror}") from error
        timeout_ms = int(os.environ.get("XLNX_DPU_TIMEOUT", DEFAULT_TIMEOUT_MS))
        if role == "workload":
            # A program on the emulated board does not compete with those of the host, as far as the host allows.
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, 0, HOST_NICENESS)
        hello = {"pid": os.getpid(), "role": role, "timeout_ms": timeout_ms}
        self.welcome: Mapping[str, Any] = self._ask({"hello": hello})["welcome"]

    def add_plan(self, plan: Plan) -> int:
        """Hand in what will be executed; returns its number."""
        number: int = self._ask({"plan": plan.to_json()})["plan"]
        return number

    def execute(self, plan_number: int) -> Mapping[str, Any]:
        """Play one execution and return when it has ended; CommandFailed if a command did not complete."""
        answer = self._ask({"run": plan_number})
        if "failed" in answer:
            raise CommandFailed(answer["failed"])
        return answer

    def close(self) -> None:
        """Leave the board."""
        self._socket.close()

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            self._socket.send(json.dumps(message).encode())
            data = self._socket.recv(MESSAGE_BYTES)
        if not data:
            raise BoardLost("the virtual board has ended")
        answer: dict[str, Any] = json.loads(data)
        return answer


def announce() -> None:
    """Say once a process, on standard error, that nothing here is hardware."""
    if not getattr(announce, "said", False):
        announce.said = True  # type: ignore[attr-defined]
        print("virtual_board: emulated KV260, no hardware behind these figures", file=sys.stderr, flush=True)
