"""The socket by which workload processes reach the board: they hand in plans and ask for executions, one at a time.

One SEQPACKET connection a runner, JSON both ways:

    {"hello": {"pid", "role": "workload"|"query", "timeout_ms"}}  ->  {"welcome": {...}}
    {"plan": {plan}}                                              ->  {"plan": id}
    {"run": id}                                                   ->  {"done": t_ns, "wall_step_ns"} | {"failed": why}
"""

from __future__ import annotations

import json
import random
import selectors
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from virtual_board import clock
from virtual_board.constants import Constants
from virtual_board.engine import Engine, Execution
from virtual_board.eventlog import EventLog
from virtual_board.plan import Plan
from virtual_board.timers import Timers

MESSAGE_BYTES = 1 << 20


def start_of(arrival_ns: int, last_due_ns: int | None, lead_ns: int) -> int:
    """When an execution begins that was asked for at `arrival_ns`.

    In a loop, the host's lead is what passes between two commands of the compute unit. A request that comes within it
    continues the schedule, so that the emulation's own messages take no time of the board. One that comes later, within
    twice the lead, finds the lead already spent: the command starts at once and only the excess is lost. Any other
    request begins anew.
    """
    if last_due_ns is None or arrival_ns - last_due_ns > 2 * lead_ns:
        return arrival_ns
    return max(last_due_ns, arrival_ns - lead_ns)


@dataclass
class Client:
    """One connection."""

    number: int
    connection: socket.socket
    pid: int = 0
    ordinal: int = 0
    """1 for the first workload process of the session, 0 for one that runs no models."""
    timeout_ns: int = 0
    core: int = 0
    """Where its host work runs if that core is free: a process's first runner on the first core, and so on."""
    host_factor: float = 1.0
    plans: dict[int, Plan] = field(default_factory=dict)
    last_due_ns: int | None = None
    executions: int = 0
    gone: bool = False


class Server:
    """Accepts clients and turns their requests into executions."""

    def __init__(
        self, path: Path, engine: Engine, constants: Constants, timers: Timers, log: EventLog, generator: random.Random
    ) -> None:
        self.welcome: Callable[[Client], dict[str, Any]] = lambda _client: {}
        self.on_first_run: Callable[[Client], None] = lambda _client: None
        self.on_leave: Callable[[Client], None] = lambda _client: None
        self.wall_step_ns = 0
        self.clients: dict[int, Client] = {}
        self._engine, self._constants, self._timers, self._log = engine, constants, timers, log
        self._generator = generator
        self._workload_pids: list[int] = []
        self._plan_count = self._client_count = 0
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen(64)

    def register(self, selector: selectors.BaseSelector) -> None:
        """Have the loop call back when something arrives."""
        self._selector = selector
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        """Refuse everything from now on."""
        self._listener.close()
        for client in list(self.clients.values()):
            client.connection.close()

    def is_workload(self, pid: int) -> bool:
        """Whether that process has said it runs models."""
        return pid in self._workload_pids

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        self._client_count += 1
        client = Client(self._client_count, connection)
        self.clients[client.number] = client
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._receive(client))

    def _receive(self, client: Client) -> None:
        arrival_ns = clock.now_ns()
        try:
            data = client.connection.recv(MESSAGE_BYTES)
        except ConnectionError:
            data = b""
        if not data:
            self._leave(client)
            return
        try:
            self._answer(client, json.loads(data), arrival_ns)
        except (ValueError, KeyError, TypeError):
            self._leave(client)  # No client of ours: what it says makes no sense.

    def _answer(self, client: Client, message: dict[str, Any], arrival_ns: int) -> None:
        if "run" in message:
            self._run(client, client.plans[message["run"]], message["run"], arrival_ns)
        elif "plan" in message:
            plan = Plan.from_json(message["plan"])
            self._plan_count += 1
            client.plans[self._plan_count] = plan
            self._log.add("plan", self._plan_count, client.number, message["plan"])
            self._send(client, {"plan": self._plan_count})
        else:
            self._hello(client, message["hello"])

    def _hello(self, client: Client, hello: dict[str, Any]) -> None:
        client.pid, client.timeout_ns = int(hello["pid"]), int(hello["timeout_ms"]) * 1_000_000
        siblings = sum(other.pid == client.pid for other in self.clients.values()) - 1
        client.core = siblings % self._constants.core_count
        if hello["role"] == "workload":
            if client.pid not in self._workload_pids:
                self._workload_pids.append(client.pid)
            client.ordinal = self._workload_pids.index(client.pid) + 1
        client.host_factor = max(0.0, self._generator.gauss(1, self._constants.host_run_sd))
        self._log.add("client", client.number, client.pid, client.ordinal, clock.now_ns())
        self._send(client, {"welcome": self.welcome(client)})

    def _run(self, client: Client, plan: Plan, plan_id: int, arrival_ns: int) -> None:
        if client.executions == 0:
            self.on_first_run(client)
        client.executions += 1
        execution = Execution(client.number, plan_id, plan, client.executions, self._durations(client, plan), self._end)
        execution.core = client.core
        self._engine.submit(execution, start_of(arrival_ns, client.last_due_ns, plan.lead_ns))

    def _durations(self, client: Client, plan: Plan) -> list[int]:
        if not plan.jitters:
            return [segment.duration_ns for segment in plan.segments]
        factor = max(0.0, client.host_factor * self._generator.gauss(1, self._constants.host_execution_sd))
        return [round(s.duration_ns * factor) if s.kind == "host" else s.duration_ns for s in plan.segments]

    def _end(self, execution: Execution, outcome: str) -> None:
        client = self.clients.get(execution.client)
        if client is None:
            return
        now_ns = clock.now_ns()
        if outcome == "done":
            client.last_due_ns = execution.cursor_ns
            self._log.add("done", client.number, execution.plan_id, execution.number, now_ns, execution.cursor_ns)
            self._send(client, {"done": now_ns, "wall_step_ns": self.wall_step_ns})
        elif outcome == "hung":
            self._timers.at(now_ns + client.timeout_ns, lambda _: self._send(client, {"failed": "timeout"}))
        else:
            self._send(client, {"failed": "aborted"})

    def _send(self, client: Client, message: dict[str, Any]) -> None:
        if not client.gone:
            try:
                client.connection.send(json.dumps(message).encode())
            except OSError:
                self._leave(client)

    def _leave(self, client: Client) -> None:
        if client.gone:
            return
        client.gone = True
        self._selector.unregister(client.connection)
        client.connection.close()
        del self.clients[client.number]
        self._engine.abandon(client.number)
        if all(other.pid != client.pid for other in self.clients.values()):
            self.on_leave(client)
