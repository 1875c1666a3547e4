"""What every format says in words of how a session was made."""

from __future__ import annotations

import pytest

from kv260_runtime.profile.result import ModelResult, ProfileResult, scheduling
from kv260_runtime.report import grid, words


def session(*models: dict[str, object], absent: dict[str, str] | None = None) -> ProfileResult:
    found = [ModelResult(model, (), {}, absent or {}) for model in models]
    return ProfileResult("s.kvs", {}, {}, found, ())


@pytest.mark.parametrize(
    ("recorder", "told"),
    [
        ({"realtime": "SCHED_FIFO 10", "cpu": "3"}, []),
        ({}, []),
        ({"realtime": "SCHED_OTHER: SCHED_FIFO is not permitted", "cpu": "any"}, ["no real-time priority"]),
        ({"realtime": "SCHED_FIFO 10", "cpu": "any: CPU 3 refused (no)"}, ["not pinned to a CPU of its own (CPU 3"]),
    ],
)
def test_what_the_system_did_not_grant_the_recorder_is_said(recorder: dict[str, str], told: list[str]) -> None:
    notes = list(scheduling(recorder))

    assert len(notes) == len(told)
    assert all(part in note for part, note in zip(told, notes, strict=True))


def test_an_absent_figure_and_its_reason_are_in_the_words_of_the_table() -> None:
    result = session({"name": "a"}, absent={"system_share_net": "there is no system_share"})

    assert list(words.caveats(result)) == [
        "absent for a: CPU, all cores, without the observer (there is no CPU, all cores, with the observer)"
    ]


def test_the_same_file_under_two_names_is_said() -> None:
    result = session({"name": "a", "sha256": "1"}, {"name": "b", "sha256": "2"}, {"name": "a#2", "sha256": "1"})

    assert list(words.caveats(result)) == ["same file: a and a#2 hold the same bytes"]


def test_changes_between_more_than_two_models_say_between_which() -> None:
    assert grid.change_titles(session({"name": "a"})) == []
    assert grid.change_titles(session({"name": "a"}, {"name": "b"})) == ["change"]
    three = session({"name": "a"}, {"name": "b"}, {"name": "c"})
    assert grid.change_titles(three) == ["b to a (first)", "c to a (first)"]
