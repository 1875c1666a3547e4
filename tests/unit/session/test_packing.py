"""Packing of columns: every value comes back bit for bit, damage is noticed."""

from __future__ import annotations

import math
import zlib
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import SessionError
from telemetry.session.packing import pack, pack_integers, unpack_integers, unpack_into

integers = st.integers(-(2**63), 2**63 - 1)
rows = st.lists(st.tuples(integers, st.floats(width=64), integers), min_size=1, max_size=50)


@given(rows, st.integers(0, 3), st.integers(0, 3))
def test_columns_come_back_bit_for_bit_into_their_place(
    values: list[tuple[int, float, int]], before: int, after: int
) -> None:
    first, second, third = zip(*values, strict=True)
    columns = [array("q", first), array("d", second), array("q", third)]
    outputs = [np.full(before + len(values) + after, -7, "q" if c.typecode == "q" else "d") for c in columns]
    unpack_into(pack(columns), len(values), outputs, before)

    for column, output in zip(columns, outputs, strict=True):
        assert output[before : before + len(values)].tobytes() == column.tobytes()
        assert np.all(output[:before] == -7)
        assert np.all(output[before + len(values) :] == -7)


@given(st.lists(integers, max_size=50))
def test_one_column_of_integers_comes_back(values: list[int]) -> None:
    assert unpack_integers(pack_integers(values), len(values)).tolist() == values


def test_the_layout_is_the_documented_one() -> None:
    """docs/session-format.md: column by column, each as eight planes of bytes, lowest first."""
    packed = pack([array("q", [0x0807060504030201, 0x1817161514131211]), array("d", [1.0, 1.0])])
    one = [byte for byte in np.array([1.0]).astype("<f8").tobytes() for _ in range(2)]
    expected = [0x01, 0x11, 0x02, 0x12, 0x03, 0x13, 0x04, 0x14, 0x05, 0x15, 0x06, 0x16, 0x07, 0x17, 0x08, 0x18]

    assert list(zlib.decompress(packed)) == expected + one


@pytest.mark.parametrize(
    "damage", [lambda blob: blob[:-3], lambda blob: b"", lambda blob: b"x" * 20, lambda blob: zlib.compress(b"12345")]
)
def test_damage_is_an_error(damage) -> None:
    with pytest.raises(SessionError, match="a chunk"):
        unpack_integers(damage(pack_integers([1, 2, 3])), 3)


def test_a_steady_kilohertz_stream_takes_a_quarter_of_its_raw_size() -> None:
    """A day of 1 kHz samples of a compute unit is then about half a gigabyte, not three."""
    rng = np.random.default_rng(3)
    t = 10**15 + np.arange(750) * 1_000_000 + rng.integers(0, 1_000_000, 750)
    late = rng.exponential(60_000, 750).astype(int)
    status = rng.choice([1, 4], 750)
    usage = 5000 + np.arange(750) // 20
    packed = pack([array("q", column.tolist()) for column in (t, late, status, usage)])

    assert len(packed) < 750 * 4 * 8 / 4
    assert math.isclose(len(packed) / 750, 6.5, abs_tol=1.0)
