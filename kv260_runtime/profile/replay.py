"""The figures a session was made with, kept in it, and what differs when they are computed anew from its samples."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kv260_runtime.profile.result import ProfileResult
from telemetry.version import VERSION

META_KEY = "figures"
"""Where a session keeps them."""


@dataclass(frozen=True)
class Difference:
    """One figure that did not come out as it was."""

    place: str
    """`run ID` or the model's name, then the figure."""
    stored: float | None
    """None if there was no such figure."""
    computed: float | None
    """None if there is no such figure now."""


def figures_of(result: ProfileResult) -> dict[str, Any]:
    """All figures without their quality, and what computed them; JSON keeps every bit of them."""
    return {
        "computed_by": {"kvbench": VERSION, "numpy": np.__version__, "machine": platform.machine()},
        "runs": {
            str(run.run_id): {name: one.value for name, one in run.measured.figures.items()}
            for model in result.models
            for run in model.runs
        },
        "models": {
            model.name: {
                f"{name}.{part}": value
                for name, one in model.summaries.items()
                for part, value in (("mean", one.mean), ("sd", one.sd))
                if value is not None
            }
            for model in result.models
        },
    }


def differences(stored: Mapping[str, Any], computed: Mapping[str, Any]) -> Iterator[Difference]:
    """Every figure of two `figures_of` that is not the same to the last bit, or that only one of them has."""
    for group, title in (("runs", "run "), ("models", "")):
        before, after = stored.get(group, {}), computed.get(group, {})
        for key in dict.fromkeys([*before, *after]):
            old, new = before.get(key, {}), after.get(key, {})
            for name in dict.fromkeys([*old, *new]):
                if old.get(name) != new.get(name):
                    yield Difference(f"{title}{key}: {name}", old.get(name), new.get(name))


def count(figures: Mapping[str, Any]) -> int:
    """How many figures there are."""
    return sum(len(named) for group in ("runs", "models") for named in figures.get(group, {}).values())


def replay_json(
    session: str, stored: Mapping[str, Any], computed: Mapping[str, Any], found: list[Difference]
) -> dict[str, Any]:
    """The outcome for programs (schema: docs/schemas/replay.schema.json)."""
    return {
        "schema_version": 1,
        "kind": "kvbench replay",
        "session": session,
        "equal": not found,
        "figures": count(computed),
        "stored_by": dict(stored.get("computed_by", {})),
        "computed_by": dict(computed["computed_by"]),
        "differences": [asdict(one) for one in found],
    }
