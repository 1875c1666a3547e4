"""Readings that somebody types in: at prompts during a run, or afterwards run by run."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from typing import TextIO

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.external.meter_file import MOST_SECONDS, MOST_WATTS
from kv260_runtime.workloads.loop import RUNNING
from telemetry.clock import Clock
from telemetry.model import Window

READ_BYTES = 4096
EVEN = 0.5
"""Readings of which no time is told lie in the middle of equal parts of the run; only that they lie inside matters."""


def parse_seconds(text: str) -> tuple[float, ...]:
    """`10,20,30,40,50`: seconds from the begin of a run. Raises KvbenchError for anything else."""
    try:
        seconds = tuple(float(word) for word in text.split(","))
    except ValueError:
        seconds = ()
    if not seconds or not all(0 < one <= MOST_SECONDS for one in seconds) or list(seconds) != sorted(set(seconds)):
        raise KvbenchError(f"{text!r}: write ascending seconds, e.g. 10,20,30,40,50", ExitCode.USAGE)
    return seconds


def parse_watts(text: str) -> list[float] | None:
    """Numbers separated by spaces, with decimal points or commas; None if one is no reading of at most MOST_WATTS."""
    try:
        watts = [float(word.replace(",", ".")) for word in text.split()]
    except ValueError:
        return None
    return watts if all(0 <= one <= MOST_WATTS for one in watts) else None


class Prompter:
    """Asks for a reading at stated seconds of each run; called back a few times a second and never waits."""

    def __init__(self, seconds: Sequence[float], clock: Clock, answers: TextIO, questions: TextIO) -> None:
        self._due_ns = [round(one * 1e9) for one in seconds]
        self._clock = clock
        self._descriptor: int | None = answers.fileno()
        self._questions = questions
        self._begin_ns: int | None = None
        self._asked = 0
        self._rest = b""
        self.readings: dict[int, float] = {}
        """Session time of each question to its answer in watts."""
        self._open_question_ns: int | None = None

    def tick(self, phase: str) -> None:
        """Look at the clock and at what was typed."""
        now_ns = self._clock.now_ns()
        self._hear()
        if phase != RUNNING:
            self._begin_ns, self._asked = None, 0
            return
        if self._begin_ns is None:
            self._begin_ns = now_ns
        passed_ns = now_ns - self._begin_ns
        if self._asked < len(self._due_ns) and passed_ns >= self._due_ns[self._asked]:
            self._asked += 1
            # The display is read when the question appears, whenever the answer has been typed.
            self._open_question_ns = now_ns
            self._ask(f"{passed_ns / 1e9:.0f} s: reading of the meter in W? ")

    def _ask(self, text: str) -> None:
        self._questions.write(text)
        self._questions.flush()

    def _hear(self) -> None:
        """Take whole lines that are there; whoever is still typing is not waited for."""
        while self._descriptor is not None and select.select([self._descriptor], [], [], 0)[0]:
            data = os.read(self._descriptor, READ_BYTES)
            if not data:
                self._descriptor = None
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._answer(line.decode(errors="replace"))

    def _answer(self, text: str) -> None:
        watts = parse_watts(text)
        if self._open_question_ns is None or watts == []:
            return
        if watts is None or len(watts) != 1:
            self._ask(f"{text.strip()!r} is no reading in W; again? ")
            return
        self.readings[self._open_question_ns] = watts[0]
        self._open_question_ns = None


def ask_afterwards(
    runs: Sequence[tuple[str, Window]], seconds: Sequence[float] | None, answers: TextIO, questions: TextIO
) -> dict[int, float]:
    """Readings of each run, by session time: those at `seconds` of it, or spread evenly. An empty line skips a run.

    Raises KvbenchError if the answers end early or there are more of them than seconds.
    """
    found: dict[int, float] = {}
    for label, window in runs:
        watts = _one_run(label, window, answers, questions)
        if seconds is not None and watts and len(watts) != len(seconds):
            raise KvbenchError(f"{label}: {len(watts)} readings for {len(seconds)} instants (--at)", ExitCode.USAGE)
        length_ns = window.end_ns - window.start_ns
        for place, one in enumerate(watts):
            after_ns = (
                round((place + EVEN) / len(watts) * length_ns) if seconds is None else round(seconds[place] * 1e9)
            )
            if after_ns > length_ns:
                raise KvbenchError(
                    f"{label} lasted {window.seconds:.1f} s: no reading at {after_ns / 1e9:g} s", ExitCode.USAGE
                )
            found[window.start_ns + after_ns] = one
    return found


def _one_run(label: str, window: Window, answers: TextIO, questions: TextIO) -> list[float]:
    while True:
        questions.write(f"{label} ({window.seconds:.1f} s), readings in W, empty to skip: ")
        questions.flush()
        line = answers.readline()
        if not line:
            raise KvbenchError(f"the input ended before the readings of {label}", ExitCode.USAGE)
        watts = parse_watts(line)
        if watts is not None:
            return watts
        questions.write(f"{line.strip()!r} holds something that is no reading in W\n")
