"""Whether two sides may be compared at all, and what differs between them besides the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kv260_runtime.compare.sides import Side
from kv260_runtime.profile.result import ProfileResult
from kv260_runtime.report.words import formal

REFUSED: Mapping[str, Callable[[ProfileResult], Any]] = {
    "board": lambda session: session.identity.get("profile"),
    "kind of board": lambda session: "emulated" if session.identity.get("emulated") else "hardware",
}
"""What must be the same."""

WARNED: Mapping[str, Callable[[ProfileResult], Any]] = {
    "governor": lambda session: session.identity.get("governor"),
    "overlay": lambda session: _of(session, "overlay", "xclbin_uuid"),
    "XRT": lambda session: _of(session, "overlay", "xrt"),
    "DPU": lambda session: _of(session, "dpu", "architecture"),
    "DPU clock in MHz": lambda session: _of(session, "dpu", "frequency_mhz"),
    "kernel": lambda session: session.identity.get("kernel"),
    "kvbench": lambda session: session.identity.get("kvbench"),
    "length of a run in seconds": lambda session: session.plan.get("duration_seconds"),
}
"""What ought to be the same."""

SUBJECT_WARNED = ("threads", "subgraph", "input")


def _of(session: ProfileResult, part: str, name: str) -> Any:  # noqa: ANN401  whatever the session recorded
    return session.identity.get(part, {}).get(name)


def refusals(before: Side, after: Side) -> Iterator[str]:
    """Reasons why a comparison would mean nothing, one line each."""
    yield from _differences(before, after, REFUSED)
    boundaries = [_boundaries(side) for side in (before, after)]
    if boundaries[0] != boundaries[1] or max(map(len, boundaries)) > 1:
        first, second = (" and ".join(sorted(found)) or "no run" for found in boundaries)
        yield f"the times have different boundaries: {first} / {second}"
    rails = [_rails(side) for side in (before, after)]
    for name in sorted(rails[0].keys() & rails[1].keys()):
        if rails[0][name] != rails[1][name]:
            yield f"{name} is not the same rail: {rails[0][name]} / {rails[1][name]}"


def warnings(before: Side, after: Side) -> Iterator[str]:
    """What differs besides the model and may be the cause of a change."""
    yield from _differences(before, after, WARNED)
    for name in SUBJECT_WARNED:
        first, second = (sorted({str(model.subject.get(name)) for model in side.models}) for side in (before, after))
        if first != second:
            yield f"{name} differs: {', '.join(first)} / {', '.join(second)}"


def _differences(before: Side, after: Side, facts: Mapping[str, Callable[[ProfileResult], Any]]) -> Iterator[str]:
    """Facts that are known on both sides and not the same throughout."""
    for name, ask in facts.items():
        first, second = ({ask(session) for session in side.sessions} - {None} for side in (before, after))
        if first and second and len(first | second) > 1:
            yield f"{name} differs: {_listed(first)} / {_listed(second)}"


def _listed(values: set[Any]) -> str:
    return ", ".join(sorted(map(str, values)))


def _boundaries(side: Side) -> set[str]:
    return {run.boundary for model in side.models for run in formal(model) if run.kept}


def _rails(side: Side) -> dict[str, str]:
    """What each rail of the sessions covers, where the board profile says it."""
    return {
        stream["name"]: stream["attributes"]["boundary"]
        for session in side.sessions
        for stream in session.streams
        if "boundary" in stream["attributes"]
    }
