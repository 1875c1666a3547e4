"""What a service tells systemd: sd_notify(3) with nothing but a socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


class Notifier:
    """Sends `KEY=value` lines to the service manager; does nothing where there is none."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog_ns = _watchdog_ns(environment) if address else None
        """How long the manager waits for the next `WATCHDOG=1` before it kills us; None if it does not watch."""

    def send(self, **values: object) -> None:
        """Tell e.g. `READY=1, STATUS="recording"`; a manager that does not listen is no reason to stop."""
        if self._address:
            message = "\n".join(f"{key}={value}" for key, value in values.items())
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.sendto(message.encode(), self._address)


def _watchdog_ns(environment: Mapping[str, str]) -> int | None:
    """WATCHDOG_USEC, unless WATCHDOG_PID says that it is meant for another process."""
    microseconds = environment.get("WATCHDOG_USEC", "")
    wanted = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) * 1000 if microseconds.isdigit() and wanted else None
