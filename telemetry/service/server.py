"""The Unix socket: many clients, none of whom can make the service wait."""

from __future__ import annotations

import os
import selectors
import socket
import stat
import struct
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from telemetry.errors import CannotCreate, ConfigError
from telemetry.service.requests import LINE_BYTES_MAX, PROTOCOL, Request, parse_request
from telemetry.version import VERSION

SOCKET_MODE = 0o660
"""Members of the socket's group may connect; that is all the access control there is."""
PATH_BYTES_MAX = 107
CLIENTS_MAX = 64
UNSENT_BYTES_MAX = 16_000_000
"""About ten seconds of all streams of a KV260 as text, ten times over; a client further behind is let go."""
REQUESTS_MAX = 1000
"""Requests of one client that wait for their answers; a client that asks on and on is let go."""

ENCODER = msgspec.json.Encoder()


class Client:
    """One connection, its unanswered requests in order, and what has not been sent yet."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.pid, self.uid = _peer(connection)
        self.requests: deque[Request | ConfigError] = deque()
        self.subscribed: tuple[str, ...] = ()
        self.closed = False
        self._received = b""
        self._unsent = bytearray()

    def receive(self, data: bytes) -> list[str]:
        """Whole lines so far."""
        *lines, self._received = (self._received + data).split(b"\n")
        if len(self._received) > LINE_BYTES_MAX:
            self.closed = True
        return [line.decode("utf-8", "replace") for line in lines]

    def wants(self, stream: str) -> bool:
        """Whether it subscribed to a stream."""
        return "*" in self.subscribed or stream in self.subscribed

    def send(self, message: dict[str, Any]) -> None:
        """Send a line, as far as the socket takes it now."""
        self._unsent += ENCODER.encode(message) + b"\n"
        self.push()
        if len(self._unsent) > UNSENT_BYTES_MAX:
            print(f"client {self.pid} (uid {self.uid}) does not read and is let go", file=sys.stderr)
            self.closed = True

    def push(self) -> None:
        """Send what waits."""
        try:
            while self._unsent:
                del self._unsent[: self.connection.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True

    @property
    def is_behind(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._unsent)


class Server:
    """Listens at a path; `heed` is called with each request as it comes, before its turn to be answered."""

    def __init__(
        self, path: Path, selector: selectors.BaseSelector, heed: Callable[[Client, Request], Request]
    ) -> None:
        self._path = path
        self._selector = selector
        self._heed = heed
        self.clients: list[Client] = []
        self._listener = _listen(path)
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        """Let everyone go and remove the socket."""
        for client in list(self.clients):
            self._drop(client)
        self._selector.unregister(self._listener)
        self._listener.close()
        self._path.unlink(missing_ok=True)

    def settle(self) -> None:
        """After sending: drop who is gone, and ask to be called back for whoever is behind."""
        for client in list(self.clients):
            if client.closed:
                self._drop(client)
            else:
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.is_behind else 0)
                self._selector.modify(client.connection, events, partial(self._serve, client))

    def _accept(self) -> None:
        with suppress(OSError):
            connection, _ = self._listener.accept()
            if len(self.clients) >= CLIENTS_MAX:
                connection.close()
                return
            connection.setblocking(False)
            client = Client(connection)
            self.clients.append(client)
            self._selector.register(connection, selectors.EVENT_READ, partial(self._serve, client))
            client.send({"kvbench": PROTOCOL, "service": "kv260-telemetry", "version": VERSION})

    def _serve(self, client: Client) -> None:
        client.push()
        try:
            data = client.connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            client.closed = True
            return
        for line in client.receive(data):
            try:
                client.requests.append(self._heed(client, parse_request(line)))
            except ConfigError as error:
                client.requests.append(error)
        if len(client.requests) > REQUESTS_MAX:
            client.closed = True

    def _drop(self, client: Client) -> None:
        self.clients.remove(client)
        self._selector.unregister(client.connection)
        client.connection.close()


def _peer(connection: socket.socket) -> tuple[int, int]:
    """Process and user at the other end, as the kernel knows them (SO_PEERCRED)."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", credentials)
    return pid, uid


def _listen(path: Path) -> socket.socket:
    """A listening socket at `path`, in place of one that nobody answers on.

    Raises ConfigError if another service answers there or it cannot be made, CannotCreate if something else stands
    there or its folder is missing.
    """
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise ConfigError(f"{path}: a socket's path has at most {PATH_BYTES_MAX} bytes; name another with --socket")
    _make_way(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    try:
        before = os.umask(0o777 & ~SOCKET_MODE)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(CLIENTS_MAX)
    except OSError as error:
        listener.close()
        raise ConfigError(f"{path}: cannot listen: {error.strerror or error}") from error
    return listener


def _make_way(path: Path) -> None:
    """Remove the socket of a service that has died; nothing else is ever removed."""
    if not path.parent.is_dir():
        raise CannotCreate(f"{path}: there is no folder {path.parent}; make it first")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise CannotCreate(f"{path}: {error.strerror or error}") from error
    if not stat.S_ISSOCK(mode):
        raise CannotCreate(f"{path}: is there already and no socket; name another place with --socket")
    if _answers(path):
        raise ConfigError(f"{path}: another kv260-telemetry listens there; stop it first")
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise CannotCreate(f"{path}: cannot replace it: {error.strerror or error}") from error


def _answers(path: Path) -> bool:
    """Whether anybody listens; a socket that this user may not ask, or that is of another type, may be in use."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True
