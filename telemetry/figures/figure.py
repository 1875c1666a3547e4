"""What a figure is: a value in an SI unit that carries the quality of the samples behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from telemetry.figures.catalogue import kind_of


@dataclass(frozen=True)
class Quality:
    """How well the samples cover the window of a figure."""

    samples: int
    """Samples inside the window; for figures that need no samples, the events counted."""
    effective_hz: float | None
    """Samples per second of window; None where rate has no meaning."""
    late_p99_ns: int | None
    """99th percentile of how late the samples inside the window were read."""
    worst_gap_ns: int | None
    """Longest span without a sample that touches the window, its edges included."""
    covered: float
    """Share of the window that counts as covered, 0 to 1."""
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> Quality:
        """The same quality with more notes."""
        return replace(self, notes=self.notes + notes)


@dataclass(frozen=True)
class Figure:
    """A value that deserved to exist; what does not is a NotCovered."""

    name: str
    """A name of the catalogue, with `.PART` for one core, port or rail."""
    value: float
    unit: str
    quality: Quality
    source: str
    """The equation of the paper or the section of the measurement rules that defines it."""


def figure(name: str, value: float, quality: Quality, part: str | None = None) -> Figure:
    """A figure of the catalogue; `part` names the core, port or rail it is about."""
    kind = kind_of(name)
    return Figure(name if part is None else f"{name}.{part}", float(value), kind.unit, quality, kind.source)
