"""What a person sees while runs go on: one line that is rewritten on a terminal, one line a run elsewhere."""

from __future__ import annotations

from typing import TextIO

from telemetry.clock import Clock

REDRAW_NS = 250_000_000


class Progress:
    """Writes to a text stream; knows nothing of runs beyond their labels and expected lengths."""

    def __init__(self, stream: TextIO, clock: Clock, *, quiet: bool = False, live: bool = True) -> None:
        """`live` is False where something else writes to the same terminal."""
        self._stream = stream
        self._clock = clock
        self._quiet = quiet
        self._live = live and stream.isatty()
        self._left_ns = 0
        self._run_end_ns = 0
        self._label = ""
        self._drawn_ns = 0
        self._width = 0

    def expect(self, left_ns: int) -> None:
        """Set how long the remaining runs will take together, the present one included."""
        self._left_ns = left_ns

    def begin(self, label: str, length_ns: int) -> None:
        """A run begins that is expected to take `length_ns`."""
        self._label = label
        self._run_end_ns = self._clock.now_ns() + length_ns
        self._left_ns = max(0, self._left_ns - length_ns)

    def phase(self, name: str) -> None:
        """The present run is in this phase; redraws a terminal's line a few times a second."""
        now_ns = self._clock.now_ns()
        if self._quiet or not self._live or now_ns - self._drawn_ns < REDRAW_NS:
            return
        self._drawn_ns = now_ns
        left_ns = self._left_ns + max(0, self._run_end_ns - now_ns)
        self._draw(f"{self._label}: {name}, about {duration(left_ns)} left")

    def end(self, outcome: str) -> None:
        """The present run ended; its line stays."""
        if self._quiet:
            return
        self._draw("")
        self._stream.write(f"{self._label}: {outcome}\n")
        self._stream.flush()

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._quiet:
            return
        self._draw("")
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def _draw(self, text: str) -> None:
        if not self._live:
            return
        self._stream.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
        self._width = len(text)
        self._stream.flush()


def duration(span_ns: int) -> str:
    """A span in words short enough for one line: `45 s`, `3 min 05 s`."""
    seconds = round(span_ns / 1e9)
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60:02d} s"
