"""One finding of the doctor, and what findings together mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kv260_runtime.errors import ExitCode

Status = Literal["ok", "warn", "fail", "absent"]
"""`absent`: not there or not tried, and measuring is possible without it; `fail`: it prevents measuring."""


@dataclass(frozen=True)
class Check:
    """What was found of one thing."""

    name: str
    status: Status
    text: str
    """What is there, or why it is not."""
    remedy: str | None = None
    """What the user can do about it."""
    values: dict[str, Any] = field(default_factory=dict)
    """What was measured, for programs; SI."""

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "status": self.status,
            "text": self.text,
            "remedy": self.remedy,
            "values": self.values,
        }


def exit_code(checks: Sequence[Check]) -> ExitCode:
    """0 if measuring is possible, whatever is missing besides; 69 if something prevents it."""
    return ExitCode.UNAVAILABLE if any(check.status == "fail" for check in checks) else ExitCode.OK
