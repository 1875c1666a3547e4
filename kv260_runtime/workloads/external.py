"""An external command through one run: its lines become markers, its ending decides whether they count."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.workloads import Observation, RunContext, RunRequest
from kv260_runtime.workloads.child import Child, describe_exit
from telemetry.markers import CommandParser, CommandResult
from telemetry.model import Int64Array, Window

HOST_SLOWER = re.compile(rb"\bhost-slower: (.+)")
"""What an emulated runner says when it computes more slowly than the device it stands for (docs/virtual-board.md)."""

Judge = Callable[[CommandResult, int | None], "str | None"]
"""Given what the command told and its exit code, why the run does not count."""


def observe_command(
    command: Sequence[str],
    parser: CommandParser,
    judge: Judge,
    boundary: str,
    request: RunRequest,
    context: RunContext,
) -> Observation:
    """Idle, run the command to its end, idle. Every line is stamped at arrival, before it is parsed."""
    before = _stay_idle(request, context)
    # Loading is not told apart from running, so its time is allowed for as well.
    limit_ns = request.start_timeout_ns + request.duration_ns + request.stall_timeout_ns
    began_ns, slow = context.clock.now_ns(), None
    with Child(command, context.clock, context.environment) as child:
        for line in child.lines(began_ns + limit_ns, lambda: context.tick("running")):
            parser.feed(line.t_ns, line.text)
            if slow is None and (said := HOST_SLOWER.search(line.text)):
                slow = said[1].decode(errors="replace").strip()
        code = child.wait() if child.ended else None
        told = parser.result()
        stalled = None if child.ended else f"the command did not end within {limit_ns / 1e9:.0f} s"
        failure = stalled or judge(told, code)
        last_lines, held_back = child.last_lines, child.held_back
        ended_ns = child.exited_ns or context.clock.now_ns()
    window = told.window or (Window(began_ns, ended_ns) if _whole_run(told) else None)
    return Observation(
        boundary=boundary,
        window=window,
        failure=failure,
        end_ns=_completions(told),
        executions=told.frames,
        seconds=told.seconds if told.seconds is not None else (None if window is None else window.seconds),
        markers=told.markers,
        idle_kind="overlay loaded, no runner",
        idle=(*before, *_stay_idle(request, context)),
        details={
            "exit_code": code,
            "command": list(command),
            "verdict": told.verdict,
            "printed_per_second": told.frames_per_second,
            "host_slower": slow,
            "held_back": held_back,
            "last_lines": last_lines if failure else [],
        },
    )


def first_fault(told: CommandResult, code: int | None) -> str | None:
    """What makes any command's run unfit: a fault in its lines, or an exit code that is not 0."""
    if told.faults:
        fault = told.faults[0]
        return f"{fault.code}: {fault.text.strip()[:200]}"
    if code != 0:
        return f"the command {describe_exit(code)}"
    return None


def require_program(command: Sequence[str], context: RunContext) -> None:
    """Raises KvbenchError naming the program if it is on no search path."""
    import shutil

    if shutil.which(command[0], path=context.environment.get("PATH")) is None:
        raise KvbenchError(f"{command[0]}: no such command on this board's search path", ExitCode.UNAVAILABLE)


def _whole_run(told: CommandResult) -> bool:
    """Commands without begin and end markers are measured from start to exit."""
    return not told.markers or all(marker.name == "completion" for marker in told.markers)


def _completions(told: CommandResult) -> Int64Array | None:
    return np.array(told.completions_ns, dtype=np.int64) if told.completions_ns else None


def _stay_idle(request: RunRequest, context: RunContext) -> tuple[Window, ...]:
    """Hold still for the idle asked for, looking up often enough for a live display."""
    if not request.idle_ns:
        return ()
    begin_ns = context.clock.now_ns()
    while (left_ns := begin_ns + request.idle_ns - context.clock.now_ns()) > 0:
        context.tick("idle")
        context.clock.sleep_until_ns(context.clock.now_ns() + min(left_ns, 200_000_000))
    return (Window(begin_ns, context.clock.now_ns()),)
