"""What a finding is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """One condition."""

    code: str
    """Stable name, e.g. `late-ticks`."""
    severity: Severity
    """`error`: the run deserves no number; `warning`: its numbers are in doubt; `info`: good to know."""
    text: str
    """One line with the figures that show it."""
    advice: str
    """One line that says what to do."""
