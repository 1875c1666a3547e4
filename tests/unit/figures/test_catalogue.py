"""The catalogue is complete, and the documentation says what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from telemetry.figures.catalogue import FIGURES, kind_of


def test_the_documented_table_is_the_catalogues(repository: Path) -> None:
    """Regenerate it with `python tools/figures_table.py`."""
    table = runpy.run_path(str(repository / "tools/figures_table.py"))["table"]()
    assert (repository / "docs/figures.md").read_text(encoding="utf-8").endswith(table)


def test_every_figure_that_code_makes_is_in_the_catalogue_and_the_other_way_round(repository: Path) -> None:
    sources = [
        path.read_text(encoding="utf-8")
        for folder in ("telemetry/figures", "kv260_runtime/profile")
        for path in (repository / folder).rglob("*.py")
    ]
    made = set(re.findall(r'\bfigure\(\s*"(\w+)"', "\n".join(sources)))
    assert made == set(FIGURES)


def test_a_part_of_a_figure_has_the_kind_of_the_whole() -> None:
    assert kind_of("core_share.cpu3") is FIGURES["core_share"]
    with pytest.raises(KeyError):
        kind_of("joules")
