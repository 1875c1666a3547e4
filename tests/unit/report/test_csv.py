"""CSV: one row a run, units in the header, every digit, empty where absent."""

from __future__ import annotations

import csv
import io

from kv260_runtime.report import renderer
from tests.unit.report.sessions import HOSTILE


def rows(result):
    return list(csv.DictReader(io.StringIO(renderer("csv")(result))))


def test_every_run_has_a_row_in_the_order_it_was_made(result):
    found = rows(result)

    assert [(row["model"], row["run"], row["attempt"], row["kept"]) for row in found] == [
        ("a", "1", "1", "yes"),
        ("b", "1", "1", "yes"),
        ("a", "2", "1", "yes"),
        ("b", "2", "1", "yes"),
        ("a", "2", "2", "no"),
    ]
    assert found[-1]["reason"] == "the worker died"
    assert {row["emulated"] for row in found} == {"yes"}


def test_values_are_unrounded_under_a_header_with_their_unit(result):
    energy = [float(row["energy_per_execution.som [J]"]) for row in rows(result) if row["kept"] == "yes"]

    assert energy[::2] == list(result.models[0].summaries["energy_per_execution.som"].values)


def test_a_figure_that_is_absent_is_an_empty_cell(result):
    excluded = rows(result)[-1]

    assert excluded["throughput [1/s]"] == excluded["energy_per_execution.som [J]"] == ""
    assert excluded["idle_power.som [W]"] == "5.0"


def test_names_with_commas_and_quotes_come_back_as_they_were(hostile):
    assert rows(hostile[0])[0]["model"] == HOSTILE
