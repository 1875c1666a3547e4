"""A load pattern at the start of a session, by which a meter's clock is found: idle, run, idle, run, idle.

The two runs differ in length, so that the pattern fits in one place only. The model runs and every core spins: a model
that leaves the DPU idle would hardly show at the input of the board.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from telemetry.clock import Clock
from telemetry.model import Marker

BURSTS_NS = (2_000_000_000, 4_000_000_000)
REST_NS = 3_000_000_000
LENGTH_NS = sum(BURSTS_NS) + (len(BURSTS_NS) + 1) * REST_NS
"""Without the time a model takes to load."""
LOOK_UP_NS = 200_000_000
PULSE_BEGIN, PULSE_END = "pulse begin", "pulse end"
BURST_BEGIN, BURST_END = "burst begin", "burst end"
PHASE = "load pulse for the meter"

SPIN = "import os\nos.nice(19)\nwhile True: pass"
"""At the lowest priority: the model's own host side goes first."""


def emit(
    load: Callable[[int], None], cores: int, clock: Clock, mark: Callable[[Marker], None], tick: Callable[[str], None]
) -> None:
    """Make the pattern now; `load(duration_ns)` runs the model for about that long, `cores` spin meanwhile."""
    mark(Marker(clock.now_ns(), PULSE_BEGIN))
    _rest(clock, tick)
    for duration_ns in BURSTS_NS:
        mark(Marker(clock.now_ns(), BURST_BEGIN))
        with spinning(cores):
            load(duration_ns)
        mark(Marker(clock.now_ns(), BURST_END))
        _rest(clock, tick)
    mark(Marker(clock.now_ns(), PULSE_END))


def _rest(clock: Clock, tick: Callable[[str], None]) -> None:
    end_ns = clock.now_ns() + REST_NS
    while (left_ns := end_ns - clock.now_ns()) > 0:
        tick(PHASE)
        clock.sleep_until_ns(clock.now_ns() + min(left_ns, LOOK_UP_NS))


@contextmanager
def spinning(cores: int) -> Iterator[None]:
    """Processes that keep so many cores busy, ended on leaving."""
    with ExitStack() as stack:
        for _ in range(cores):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", SPIN], stdin=subprocess.DEVNULL))
            stack.callback(process.kill)
        yield


def cores_to_spin(emulated: bool) -> int:
    """All cores of a real board; none where the load would not show on an emulated rail and only disturb it."""
    return 0 if emulated else os.cpu_count() or 1
