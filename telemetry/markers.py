"""Lines of an external command to markers and to what it says of itself, by tables of patterns.

Pure: a line comes with the instant it arrived, stamped before it was parsed; the clock in the line itself is the
wall's and may step, so it is never used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from telemetry.errors import ConfigError
from telemetry.model import Marker, Window

Verdict = Literal["passed", "failed", "unknown"]

BEGIN = "begin"
END = "end"
COMPLETION = "completion"


@dataclass(frozen=True)
class Fault:
    """Something a command said that makes its run unfit to be counted."""

    t_ns: int
    code: str
    """A key of FAULTS, e.g. `dpu-timeout`."""
    text: str
    """The line that said so."""


@dataclass(frozen=True)
class CommandResult:
    """What a command told about one run; what it did not tell is None or empty."""

    verdict: Verdict
    markers: tuple[Marker, ...]
    faults: tuple[Fault, ...]
    frames: int | None = None
    """Executions in all: the exact sum over threads where those are told, else the command's own total."""
    frames_per_thread: Mapping[int, int] = field(default_factory=dict)
    seconds: float | None = None
    """The command's own `time=`."""
    frames_per_second: float | None = None
    """The command's own rate; of xdputil a float of six digits."""
    completions_ns: tuple[int, ...] = ()
    """Arrival of each line that stands for one completed execution."""
    begin: str = BEGIN
    end: str = END

    @property
    def window(self) -> Window | None:
        """From the first begin marker to the first end marker after it; None if either is missing."""
        begins = [marker.t_ns for marker in self.markers if marker.name == self.begin]
        ends = [
            marker.t_ns for marker in self.markers if marker.name == self.end and begins and marker.t_ns > begins[0]
        ]
        return Window(begins[0], ends[0]) if ends else None


class CommandParser(Protocol):
    """Fed the lines of one run of a command in order of arrival."""

    def feed(self, t_ns: int, line: bytes) -> list[Marker]:
        """The markers in a line that arrived at `t_ns`, of stdout or stderr alike; no line is too odd to be fed."""
        ...

    def result(self) -> CommandResult:
        """What has been told so far."""
        ...


GLOG_PREFIX = re.compile(r"[IWEF](?:\d{4}|\d{8}) \d{2}:\d{2}:\d{2}\.\d+ +\d+ [^\s\]]+:\d+\] ?")
"""Severity, month and day (newer glog: with the year), time, thread, source file and line."""
GLOG_FATAL = re.compile(r"(?:^|\n)F(?:\d{4}|\d{8}) \d{2}:\d{2}:\d{2}\.\d")

NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
PROGRESS = re.compile(r"\b(\d{1,3})% \.\.\.")
THREAD = re.compile(r"\bthread-(\d+) processes (\d+) frames")
RATE = re.compile(rf"\bFPS= ?{NUMBER} number_of_frames= ?{NUMBER} time= ?{NUMBER} seconds")
PASSED = re.compile(r"^Test PASS", re.MULTILINE)
FAILED = re.compile(r"^Test Failed", re.MULTILINE)

FAULTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("dpu-timeout", re.compile(r"\bdpu timeout! ")),
    ("fingerprint", re.compile(r"\bfingerprint check fail|\bCHECK fingerprint fail")),
    ("check-failed", re.compile(r"\bCheck failed: ")),
    ("missing-input", re.compile(r" does not exist$", re.MULTILINE)),
    ("aborted", re.compile(r"\bAborted\b")),
)
"""What the vendor's runtime prints before it takes its process down, or instead of a result (with exit code 0)."""


class XdputilParser:
    """`xdputil benchmark`: eleven progress lines, frames of each thread, its own rate, and a verdict.

    Progress comes on stderr and the verdict on stdout, unless the user joined them. The exit code says nothing: it is
    0 even after `Test Failed!!!`. The rate line prints floats of six digits; exact counts come from the thread lines.
    """

    def __init__(self) -> None:
        self._markers: list[Marker] = []
        self._faults: list[Fault] = []
        self._frames: dict[int, int] = {}
        self._rate: tuple[float, float, float] | None = None
        self._verdict: Verdict = "unknown"

    def feed(self, t_ns: int, line: bytes) -> list[Marker]:
        """See CommandParser."""
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        message = GLOG_PREFIX.sub("\n", text).strip()
        found = [Marker(t_ns, f"{percent}%") for percent in map(int, PROGRESS.findall(message)) if percent <= 100]
        self._markers += found
        self._frames.update((int(thread), int(frames)) for thread, frames in THREAD.findall(message))
        for rate, frames, seconds in RATE.findall(message):
            self._rate = float(rate), float(frames), float(seconds)
        if FAILED.search(message):
            self._verdict = "failed"
        elif PASSED.search(message) and self._verdict == "unknown":
            self._verdict = "passed"
        self._faults += faults_in(t_ns, text, message)
        return found

    def result(self) -> CommandResult:
        """See CommandParser."""
        rate, total, seconds = self._rate or (None, None, None)
        frames = sum(self._frames.values()) if self._frames else None if total is None else round(total)
        return CommandResult(
            verdict=self._verdict,
            markers=tuple(self._markers),
            faults=tuple(self._faults),
            frames=frames,
            frames_per_thread=dict(self._frames),
            seconds=seconds,
            frames_per_second=rate,
            begin="0%",
            end="100%",
        )


def faults_in(t_ns: int, text: str, message: str) -> list[Fault]:
    """The faults that a line tells of: known ones by their message, else any line of glog severity F."""
    known = [Fault(t_ns, code, text) for code, pattern in FAULTS if pattern.search(message)]
    return known or ([Fault(t_ns, "fatal", text)] if GLOG_FATAL.search(text) else [])


class PatternParser:
    """Any command, by up to three regular expressions of the user.

    `begin` and `end` mark the window. A match of `count` is one completed execution; if the expression has a group,
    that group is instead the number of executions done so far, and the last one stands.
    Raises ConfigError for an expression that does not compile, or `end` without `begin`.
    """

    def __init__(self, begin: str | None = None, end: str | None = None, count: str | None = None) -> None:
        if (begin is None) != (end is None):
            raise ConfigError("a begin pattern needs an end pattern and the other way round")
        self._begin, self._end, self._count = (
            _compiled("begin", begin),
            _compiled("end", end),
            _compiled("count", count),
        )
        self._markers: list[Marker] = []
        self._faults: list[Fault] = []
        self._frames: int | None = None
        self._completions_ns: list[int] = []

    def feed(self, t_ns: int, line: bytes) -> list[Marker]:
        """See CommandParser. The first begin and the first end after it count; executions count wherever they are."""
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        found = [Marker(t_ns, name) for name, pattern in ((BEGIN, self._begin), (END, self._end)) if _in(pattern, text)]
        if self._count is not None and (match := self._count.search(text)):
            found += self._counted(t_ns, match)
        self._markers += found
        self._faults += faults_in(t_ns, text, text)
        return found

    def _counted(self, t_ns: int, match: re.Match[str]) -> list[Marker]:
        if match.re.groups == 0:
            self._completions_ns.append(t_ns)
            return [Marker(t_ns, COMPLETION)]
        try:
            self._frames = int(float(match[1]))
        except (TypeError, ValueError, OverflowError):
            self._faults.append(Fault(t_ns, "not-a-count", match[0]))
        return []

    def result(self) -> CommandResult:
        """See CommandParser; a command without a known verdict is `unknown`, its exit code decides."""
        counted = len(self._completions_ns) if self._completions_ns else None
        return CommandResult(
            verdict="unknown",
            markers=tuple(self._markers),
            faults=tuple(self._faults),
            frames=self._frames if self._frames is not None else counted,
            completions_ns=tuple(self._completions_ns),
        )


def _in(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.search(text) is not None


def _compiled(role: str, expression: str | None) -> re.Pattern[str] | None:
    if expression is None:
        return None
    try:
        return re.compile(expression)
    except re.error as error:
        raise ConfigError(f"the {role} pattern {expression!r} is not a regular expression: {error}") from None
