"""Our own loop: what is told of a worker that dies."""

from __future__ import annotations

import os
import sys

import pytest

from kv260_runtime.workloads import RunContext, RunRequest, WorkloadSpec
from kv260_runtime.workloads.loop import Loop
from telemetry.clock import SystemClock


class Dying(Loop):
    """A worker that says something and is killed."""

    def __init__(self, *said):
        super().__init__(WorkloadSpec("graph"))
        self.said = said

    def command(self):
        code = f"import os, sys; print({os.linesep.join(self.said)!r}, file=sys.stderr, flush=True); os.abort()"
        return [sys.executable, "-c", code]


ANNOUNCED = "virtual_board: emulated KV260, no hardware behind these figures"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((ANNOUNCED,), "the worker was killed by SIGABRT while loading"),
        (("out of memory", ANNOUNCED), "the worker was killed by SIGABRT while loading: out of memory"),
    ],
)
def test_the_announcement_of_an_emulated_board_is_nobodys_last_word(said, told):
    context = RunContext(SystemClock(), dict(os.environ), lambda _: None)

    assert Dying(*said).run(RunRequest(duration_ns=10**9), context).failure == told
