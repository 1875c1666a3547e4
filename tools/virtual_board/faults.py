"""Faults by name, as an option asks for them: `NAME[@N[+SECONDS]]`, several separated by semicolons.

N counts the processes that run models, from 1, smoke runs included. SECONDS counts from the first execution of that
process.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from virtual_board.errors import VirtualBoardError

FAULTS: Mapping[str, str] = {
    "sensor-vanishes": "the power sensor leaves the tree for 2 s; open descriptors get ENODEV",
    "ebusy-storm": "nine of ten reads of the power sensor fail with EBUSY for 2 s",
    "stuck-value": "the power sensor keeps its last value until the process ends",
    "counter-wrap": "the memory counters start 20 MB before their wrap (from the beginning; takes no @N)",
    "lost-interrupt": "one command's completion is noticed 500 ms after its start; the status shows 0x1 until then",
    "firmware-reload": "the overlay is gone for 2 s and comes back with another CU.N.auto; the process's command fails",
    "hwmon-renumbered": "the power sensor moves to another hwmonN",
    "dpu-timeout": "a command never completes; the process aborts after XLNX_DPU_TIMEOUT (set to 2 s here)",
    "wedged-cu": "the same, and afterwards every command of every process fails",
    "missing-100-marker": "xdputil does not print its last progress line",
    "test-failed": "xdputil prints `Test Failed!!!`; its exit code stays 0",
    "bit-flip": "one bit of the last element of each output tensor is inverted",
    "wall-clock-step": "the board's wall clock jumps ahead by a day: glog stamps, btime",
}
NEEDS_FILES = frozenset({"sensor-vanishes", "ebusy-storm"})
"""Faults that a regular file cannot show; they are injected where the recorder reads."""
HANGS = frozenset({"dpu-timeout", "wedged-cu"})
FROM_THE_START = frozenset({"counter-wrap"})

DEFAULT_AFTER_SECONDS = 1.0
HANG_TIMEOUT_MS = 2_000


@dataclass(frozen=True)
class Fault:
    """One fault to come."""

    name: str
    process: int = 1
    after_seconds: float = DEFAULT_AFTER_SECONDS


def parse_faults(text: str) -> tuple[Fault, ...]:
    """All faults of an option's value; VirtualBoardError names the wrong one and the nearest right one."""
    return tuple(_parse(part.strip()) for part in text.split(";") if part.strip())


def _parse(text: str) -> Fault:
    name, at, place = text.partition("@")
    if name not in FAULTS:
        nearest = difflib.get_close_matches(name, FAULTS, 1)
        hint = f"did you mean {nearest[0]}?" if nearest else "python -m virtual_board faults lists them"
        raise VirtualBoardError(f"fault={name}: no such fault; {hint}")
    if not at:
        return Fault(name)
    if name in FROM_THE_START:
        raise VirtualBoardError(f"fault={text}: {name} acts from the beginning, write fault={name}")
    process, plus, after = place.partition("+")
    try:
        fault = Fault(name, int(process), float(after) if plus else DEFAULT_AFTER_SECONDS)
    except ValueError:
        raise VirtualBoardError(f"fault={text}: expected NAME@N or NAME@N+SECONDS, e.g. {name}@2+1.5") from None
    if fault.process < 1 or not 0 <= fault.after_seconds < float("inf"):
        raise VirtualBoardError(f"fault={text}: processes count from 1, seconds from 0")
    return fault
