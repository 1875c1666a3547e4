"""Print the table of docs/figures.md from the catalogue: `python tools/figures_table.py`."""

from __future__ import annotations

from telemetry.figures.catalogue import FIGURES


def table() -> str:
    """The Markdown table, one row a figure, ending in a newline."""
    rows = ["| figure | unit | formula | source | refused when |", "|---|---|---|---|---|"]
    for name, kind in FIGURES.items():
        cells = (f"`{name}`", f"`{kind.unit}`", kind.formula, kind.source, kind.refused)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(table(), end="")
