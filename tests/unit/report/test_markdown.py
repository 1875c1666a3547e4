"""Markdown: a table that renders whatever the names are."""

from __future__ import annotations

import re

from kv260_runtime.report import renderer
from tests.unit.report.sessions import HOSTILE


def tables(text):
    """The lines of each table of a page."""
    return [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]


def columns(line):
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_the_table_has_a_column_a_model_and_one_for_the_change(result):
    figures, _ = tables(renderer("markdown")(result))

    assert {columns(line) for line in figures} == {5}
    assert figures[2] == "| kept runs |  | 2 of 3 | 2 of 2 |  |"
    assert any(line.startswith("| energy per execution, som | J | 0.18") for line in figures)


def test_a_second_table_has_both_intervals_of_each_model(result):
    _, intervals = tables(renderer("markdown")(result))

    assert {columns(line) for line in intervals} == {7}
    assert intervals[0] == "| 95 % intervals | unit | a | accuracy | b | accuracy | change |"


def test_it_says_that_the_board_was_emulated_and_what_was_excluded(result):
    text = renderer("markdown")(result)

    assert "emulated: no hardware was measured" in text.splitlines()[0]
    assert "- excluded: a formal 2, attempt 2 (the worker died)" in text
    assert "<details><summary>How it was measured</summary>" in text


def test_names_cannot_add_columns_or_markup(hostile):
    text = renderer("markdown")(hostile[0])

    assert [{columns(line) for line in lines} for lines in tables(text)] == [{5}, {7}]
    assert HOSTILE not in text
    assert not re.search(r"(?<!\\)<(?!/?(details|summary)>)", text)
