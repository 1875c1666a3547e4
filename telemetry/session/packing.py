"""Columns of numbers to one compressed blob and back: eight-byte values, bytes of equal weight side by side, zlib.

docs/session-format.md describes the layout. Packing needs no numpy, because the recorder does without it.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from telemetry.errors import SessionUnreadable
from telemetry.model import Column, Int64Array

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Typecode = Literal["q", "d"]
"""`q` is a signed 64-bit integer, `d` an IEEE double, both as in the `array` module."""

ITEM_BYTES = 8
COMPRESSION_LEVEL = 1
"""Level 6 saves 3 % of the bytes of a 1 kHz stream and costs half as much time again."""
WHOLE_UNITS = ("1", "B")


def typecode(column: Column) -> Typecode:
    """How a column is stored: states and counters of whole units as integers, all else as doubles."""
    if column.kind == "state" or (column.kind == "counter" and column.unit in WHOLE_UNITS):
        return "q"
    return "d"


def pack(columns: Sequence[array[Any]]) -> bytes:
    """Pack columns of `q` or `d` values, all of one length."""
    return zlib.compress(b"".join(map(_planes, columns)), COMPRESSION_LEVEL)


def _planes(column: array[Any]) -> bytes:
    """The first bytes of all values, then all second bytes, and so on: neighbours differ in the low bytes only."""
    if sys.byteorder == "big":
        column = array(column.typecode, column)
        column.byteswap()
    raw = column.tobytes()
    return b"".join([raw[byte::ITEM_BYTES] for byte in range(ITEM_BYTES)])


def unpack_into(blob: bytes, count: int, outputs: Sequence[npt.NDArray[Any]], start: int) -> None:
    """Unpack a blob of `count` rows into rows [start, start + count) of `outputs`, contiguous arrays of 8-byte items.

    Raises SessionUnreadable if the blob is damaged.
    """
    import numpy as np

    try:
        raw = zlib.decompress(blob)
    except zlib.error as error:
        raise SessionUnreadable(f"a chunk cannot be decompressed ({error})") from error
    if len(raw) != count * ITEM_BYTES * len(outputs):
        raise SessionUnreadable(f"a chunk of {count} samples and {len(outputs)} columns holds {len(raw)} bytes")
    planes = np.frombuffer(raw, np.uint8).reshape(len(outputs), ITEM_BYTES, count)
    for column, output in zip(planes, outputs, strict=True):
        rows = output.view(np.uint8).reshape(-1, ITEM_BYTES)[start : start + count]
        rows[:] = (column if sys.byteorder == "little" else column[::-1]).T


def pack_integers(values: Sequence[int] | Int64Array) -> bytes:
    """Pack one column of integers."""
    return pack([array("q", [int(value) for value in values])])


def unpack_integers(blob: bytes, count: int) -> npt.NDArray[np.int64]:
    """Unpack one column of `count` integers."""
    import numpy as np

    output = np.empty(count, np.int64)
    unpack_into(blob, count, [output], 0)
    return output
