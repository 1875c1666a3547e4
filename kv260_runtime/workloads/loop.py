"""Our own timed loops, whole graph or one DPU subgraph, in a child process (kv260_runtime.worker)."""

from __future__ import annotations

import json
import re
import sys
from array import array
from typing import Any

import numpy as np

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.workloads import Observation, RunContext, RunRequest, WorkloadSpec
from kv260_runtime.workloads.child import Child, describe_exit
from telemetry.markers import GLOG_PREFIX, faults_in
from telemetry.model import Marker, Window

BOUNDARIES = {
    "graph": "whole XModel through GraphRunner, inputs copied by the loop",
    "dpu": "one DPU subgraph through vart.Runner",
}
OUTPUTS_UNREAD = {"KVBENCH_OUTPUTS": "unread"}
"""The loop reads no output; an emulated runner need not compute any (docs/virtual-board.md)."""
ANNOUNCEMENT = re.compile(r"virtual_board: emulated ")
"""What the modules of an emulated board say first (docs/virtual-board.md); nobody's last words."""
LOADING, IDLE, RUNNING = "loading", "idle", "running"


class Loop:
    """The worker process driven through one run."""

    def __init__(self, spec: WorkloadSpec) -> None:
        self._spec = spec

    def command(self) -> list[str]:
        """The worker's command line without its report descriptor."""
        spec = self._spec
        command = [sys.executable, "-m", "kv260_runtime.worker", "--kind", spec.kind, "--model", str(spec.model)]
        command += ["--threads", str(spec.threads), "--seed", str(spec.seed)]
        if spec.subgraph is not None:
            command += ["--subgraph", str(spec.subgraph)]
        if spec.input is not None:
            command += ["--input", str(spec.input)]
        return command

    def run(self, request: RunRequest, context: RunContext) -> Observation:
        environment = {**context.environment, **OUTPUTS_UNREAD}
        with Child(self.command(), context.clock, environment, report=True) as child:
            return _Run(child, self._spec, request, context).observe()


class _Run:
    """One pass through load, idle, loop, idle."""

    def __init__(self, child: Child, spec: WorkloadSpec, request: RunRequest, context: RunContext) -> None:
        self._child = child
        self._spec = spec
        self._request = request
        self._context = context
        self._idle: list[Window] = []
        self._details: dict[str, Any] = {}
        self._start = array("q")
        self._end = array("q")

    def observe(self) -> Observation:
        failure = self._until("ready", self._request.start_timeout_ns, LOADING) or self._stay_idle()
        if failure is None:
            request = self._request
            go = f"count {request.executions}" if request.executions else f"time {request.duration_ns}"
            self._child.send(go)
            failure = self._until("done", request.duration_ns + request.stall_timeout_ns, RUNNING)
        if failure is None:
            failure = self._stay_idle()
            self._child.send("quit")
            self._child.wait()
        return self._observation(failure)

    def _until(self, word: str, timeout_ns: int, phase: str) -> str | None:
        """Read lines until one begins with `word`; returns why that did not happen."""
        context = self._context
        for line in self._child.lines(context.clock.now_ns() + timeout_ns, lambda: context.tick(phase)):
            if line.source != "report":
                continue
            name, _, rest = line.text.partition(b" ")
            if name == b"x":
                _, start_ns, end_ns = rest.split()
                self._start.append(int(start_ns))
                self._end.append(int(end_ns))
            elif name == b"error":
                return _worker_error(rest)
            elif name == word.encode():
                self._details.update(json.loads(rest) if word == "ready" else {"counted": int(rest)})
                return None
        if self._child.ended:
            return f"the worker {describe_exit(self._child.wait())} while {phase}{self._last_words()}"
        return f"the worker said nothing for {timeout_ns / 1e9:.0f} s while {phase}"

    def _stay_idle(self) -> str | None:
        """Hold still with the runner created, keeping the span; a worker that ends meanwhile is a failure."""
        begin_ns = self._context.clock.now_ns()
        if self._request.idle_ns:
            end_ns = begin_ns + self._request.idle_ns
            for _line in self._child.lines(end_ns, lambda: self._context.tick(IDLE)):
                pass
            self._idle.append(Window(begin_ns, self._context.clock.now_ns()))
        if self._child.ended:
            return f"the worker {describe_exit(self._child.wait())} while idle{self._last_words()}"
        return None

    def _last_words(self) -> str:
        """What the child said before it went, for a one-line reason: the vendor's fatal line, else its last line."""
        said = [line.strip() for line in self._child.last_lines if line.strip() and not ANNOUNCEMENT.match(line)]
        fatal = [line for line in said if faults_in(0, line, GLOG_PREFIX.sub("", line))]
        words = (fatal[:1] or said[-1:] or [""])[0]
        return f": {GLOG_PREFIX.sub('', words)[:200]}" if words else ""

    def _observation(self, failure: str | None) -> Observation:
        order = np.argsort(np.frombuffer(self._end, dtype=np.int64), kind="stable")
        start_ns = np.frombuffer(self._start, dtype=np.int64)[order]
        end_ns = np.frombuffer(self._end, dtype=np.int64)[order]
        window = None if failure or not len(end_ns) else Window(int(start_ns.min()), int(end_ns[-1]))
        markers = () if window is None else (Marker(window.start_ns, "begin"), Marker(window.end_ns, "end"))
        details = {**self._details, "last_lines": self._child.last_lines if failure else []}
        return Observation(
            boundary=BOUNDARIES[self._spec.kind],
            window=window,
            failure=failure,
            start_ns=start_ns,
            end_ns=end_ns,
            executions=len(end_ns),
            markers=markers,
            idle_kind="runner created",
            idle=tuple(self._idle),
            details=details,
        )


def _worker_error(rest: bytes) -> str:
    """The failure a worker reported in words; a fault of the user's input ends the whole command instead."""
    told = json.loads(rest)
    code = ExitCode(told["exit_code"])
    if code != ExitCode.NOT_MEASURED:
        raise KvbenchError(told["message"], code)
    return str(told["message"])


def open_workload(spec: WorkloadSpec) -> Loop:
    """The loop for a spec of kind `graph` or `dpu`."""
    return Loop(spec)
