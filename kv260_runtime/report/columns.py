"""Columns of plain text, without a library that takes longer to import than the text to make."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from kv260_runtime.errors import printable


def aligned(rows: Sequence[Sequence[str]], gap: str = "  ") -> Iterator[str]:
    """Lines with each column as wide as its widest cell; columns of figures are right-aligned."""
    rows = [[printable(cell) for cell in row] for row in rows]
    columns = list(zip_longest(*rows, fillvalue=""))
    widths = [max(map(len, column)) for column in columns]
    right = [all(_is_figure(cell) for cell in column[1:]) and len(column) > 1 for column in columns]
    for row in rows:
        cells = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=False)
        ]
        yield gap.join(cells).rstrip()


def _is_figure(cell: str) -> bool:
    return re.fullmatch(r"-|~?-?[\d,.]+( [kMG]?(B|OP))?", cell) is not None


def quantity(value: float, unit: str) -> str:
    """A count with a decimal prefix: `426.890 kB`, `18.221 GOP`."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3f} {prefix}{unit}"
    return f"{value:g} {unit}"
