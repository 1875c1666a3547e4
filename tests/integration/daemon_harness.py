"""A real kv260-telemetry process, waited for by what it tells its service manager."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from telemetry.client import Connection, socket_path

START_SECONDS = 20


@dataclass
class Daemon:
    """A running service."""

    process: subprocess.Popen[str]
    manager: socket.socket
    """Where its sd_notify messages come."""
    url: str
    socket: Path

    def told(self, key: str, seconds: float = START_SECONDS) -> str:
        """The next value of a key that it tells its manager; TimeoutError if none comes."""
        self.manager.settimeout(seconds)
        while True:
            message = dict(line.split("=", 1) for line in self.manager.recv(4096).decode().splitlines())
            if key in message:
                return message[key]

    def forget_what_was_told(self) -> None:
        """Leave out what has come so far."""
        self.manager.setblocking(False)
        try:
            while self.manager.recv(4096):
                pass
        except BlockingIOError:
            pass

    def get(self, path: str = "/metrics", seconds: float = 10) -> str:
        """A page."""
        with urllib.request.urlopen(self.url + path, timeout=seconds) as answer:
            return answer.read().decode()

    def metrics(self) -> dict[str, float]:
        """Samples of the present exposition by name and labels."""
        return samples(self.get())

    def connect(self) -> Connection:
        """A client's connection."""
        return Connection(self.socket)

    def recorder(self) -> int:
        """The process that reads sensors."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        [pid] = [pid for pid in children if b"telemetry.recorder" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        return int(pid)

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal and wait; exit code and what stood on stderr after the start."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors


def samples(text: str) -> dict[str, float]:
    """The lines of an exposition."""
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


@contextmanager
def running(
    root: Path,
    *words: object,
    environment: Mapping[str, str] | None = None,
    wrapper: Sequence[object] = (),
    listen: str = "127.0.0.1:0",
) -> Iterator[Daemon]:
    """A service of the board under `root`, once it is ready."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        # Abstract, so that it is the same whatever the service sees of the file system.
        address = f"kvbench-test-{uuid.uuid4()}"
        manager.bind(f"\0{address}")
        command = [*wrapper, sys.executable, "-m", "telemetry.daemon", "--root", root, "--listen", listen, *words]
        process = subprocess.Popen(
            [str(word) for word in command],
            env={**os.environ, "NOTIFY_SOCKET": f"@{address}", **(environment or {})},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            before = []
            for line in process.stderr:
                before.append(line)
                if found := re.match(r"metrics on http://[^:]*:(\d+)/", line):
                    break
            else:
                raise AssertionError(f"it did not start: {before}")
            daemon = Daemon(process, manager, f"http://127.0.0.1:{found[1]}", socket_path(root))
            daemon.told("READY")
            yield daemon
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(30)
            if process.stderr is not None:
                process.stderr.close()
