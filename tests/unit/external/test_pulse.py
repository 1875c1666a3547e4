"""The load pattern at the start of a session."""

from __future__ import annotations

from itertools import pairwise

import psutil

from kv260_runtime.external import pulse


class StepClock:
    """Time that passes only when somebody sleeps or loads."""

    def __init__(self):
        self.t_ns = 1000

    def now_ns(self):
        return self.t_ns

    def sleep_until_ns(self, due_ns):
        self.t_ns = max(self.t_ns, due_ns)


def emitted():
    clock, marks, phases = StepClock(), [], []

    def load(duration_ns):
        clock.t_ns += duration_ns

    pulse.emit(load, 0, clock, marks.append, phases.append)
    return marks, phases


def test_the_pattern_is_idle_run_idle_run_idle_with_runs_of_two_lengths():
    marks, _ = emitted()
    gaps = [after.t_ns - before.t_ns for before, after in pairwise(marks)]

    assert [mark.name for mark in marks] == [
        pulse.PULSE_BEGIN,
        pulse.BURST_BEGIN,
        pulse.BURST_END,
        pulse.BURST_BEGIN,
        pulse.BURST_END,
        pulse.PULSE_END,
    ]
    assert gaps == [pulse.REST_NS, pulse.BURSTS_NS[0], pulse.REST_NS, pulse.BURSTS_NS[1], pulse.REST_NS]
    assert len(set(pulse.BURSTS_NS)) == len(pulse.BURSTS_NS)
    assert sum(gaps) == pulse.LENGTH_NS


def test_a_live_display_is_told_while_nothing_runs():
    _, phases = emitted()

    assert set(phases) == {pulse.PHASE}
    assert len(phases) >= 3 * pulse.REST_NS // pulse.LOOK_UP_NS


def test_spinning_processes_end_with_the_burst():
    before = set(psutil.Process().children())
    with pulse.spinning(2):
        spinning = set(psutil.Process().children()) - before
        assert len(spinning) == 2
    assert not any(process.is_running() for process in spinning)


def test_nothing_spins_beside_an_emulated_board():
    assert pulse.cores_to_spin(emulated=True) == 0
    assert pulse.cores_to_spin(emulated=False) >= 1
