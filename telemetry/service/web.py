"""The HTTP side: metrics, health and a landing page, each connection in a thread that never waits for a sensor."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from html import escape
from http.server import HTTPServer
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from telemetry.errors import ConfigError
from telemetry.service.snapshot import ServiceState
from telemetry.version import VERSION

App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
"""A WSGI application."""

REQUEST_SECONDS = 5
"""How long a client may take to say what it wants, so that silent ones do not pile up."""
MOST_CONNECTIONS = 24

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>kv260-telemetry</title>
<h1>kv260-telemetry {version}</h1>
<p>{board}{emulated}</p>
<p><a href="/metrics">/metrics</a>, <a href="/-/healthy">/-/healthy</a>, <a href="/-/ready">/-/ready</a></p>
<table><tr><th>sampler<th>samples<th>gaps<th>per second</tr>
{rows}</table>
{missing}</html>
"""

Answer = tuple[str, str, str]
"""Status, content type, text."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], family: socket.AddressFamily) -> None:
        self.address_family = family
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """As HTTPServer, without asking DNS for our own name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as the base has it
        """Turn away whoever comes when all places are taken."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Serve, then free the place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A client that went away is no news."""


class _Handler(WSGIRequestHandler):
    timeout = REQUEST_SECONDS

    def log_message(self, *_: Any) -> None:  # noqa: ANN401
        """A scrape is no news."""


def start(listen: str, metrics: App, latest: Callable[[], ServiceState]) -> HTTPServer:
    """Serve on `[HOST]:PORT` in a thread of its own; ConfigError if that cannot be had."""
    host, port = _address(listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = _Server((host, port), family)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--listen {listen}: {getattr(error, 'strerror', None) or error}") from error
    server.set_app(_routes(metrics, latest))
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit():
        raise ConfigError(f"--listen {listen}: expected HOST:PORT or :PORT")
    return host.strip("[]"), int(port)


def _routes(metrics: App, latest: Callable[[], ServiceState]) -> App:
    pages: dict[str, Callable[[ServiceState], Answer]] = {"/": _landing, "/-/healthy": _healthy, "/-/ready": _ready}

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "/")
        if path == "/metrics":
            return metrics(environ, start_response)
        page = pages.get(path)
        status, kind, text = page(latest()) if page else ("404 Not Found", "text/plain", f"no {path} here\n")
        body = text.encode()
        start_response(status, [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body)))])
        return [body]

    return app


def _healthy(state: ServiceState) -> Answer:
    if state.stuck:
        return "503 Service Unavailable", "text/plain", f"{state.stuck}\n"
    return "200 OK", "text/plain", "samples advance\n"


def _ready(state: ServiceState) -> Answer:
    if not state.ready:
        return "503 Service Unavailable", "text/plain", "no sample yet\n"
    return "200 OK", "text/plain", "ready\n"


def _landing(state: ServiceState) -> Answer:
    rows = "".join(
        f"<tr><td>{escape(totals.stream.name)}<td>{totals.samples}<td>{sum(totals.gaps.values())}"
        f"<td>{'down' if totals.effective_hertz is None else f'{totals.effective_hertz:.1f}'}</tr>\n"
        for totals in state.snapshot.streams
    )
    missing = "".join(f"<p>no {escape(kind)}: {escape(why)}</p>\n" for kind, why in state.snapshot.missing.items())
    emulated = " (emulated: no hardware behind these figures)" if state.emulated else ""
    text = PAGE.format(version=VERSION, board=escape(state.board), emulated=emulated, rows=rows, missing=missing)
    return "200 OK", "text/html", text
