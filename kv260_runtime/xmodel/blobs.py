"""Takes large byte strings (weights, programs) out of a serialized graph before protobuf sees, and copies, them.

protobuf copies a byte field twice: into its arena and out of it. A blob that stays in the file's own buffer, looked at
through a memoryview, is never copied, and a parse costs what the structure costs.
"""

from __future__ import annotations

from kv260_runtime.xmodel.schema import BYTES_FIELDS, MESSAGE_FIELDS

LIFT_FROM_BYTES = 4096
MOST_FIELDS = 250_000
"""Fields of the messages walked through: a real file has a few thousand, a hostile one a million of two bytes each."""

_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_GROUPS = (3, 4)


class _Malformed(Exception):
    """The walk met what protobuf will refuse, or what it may accept and this walk does not know."""


class HoldsGroup(Exception):
    """A group, which proto3 does not have, so no XModel does.

    At the end of a group that never began, protobuf 3.20 takes what came before for the whole message and only warns.
    """


class TooManyFields(Exception):
    """A file would make more objects than any network needs."""


class Blobs:
    """The lifted byte strings of one file and the tokens that stand for them."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._prefix = _absent_prefix(data)
        self._lifted: list[memoryview] = []
        self._fields_left = MOST_FIELDS

    def resolve(self, value: bytes) -> memoryview:
        """The bytes of a field, lifted or not; read-only."""
        if value.startswith(self._prefix):
            return self._lifted[int.from_bytes(value[len(self._prefix) :], "little")]
        return memoryview(value)

    def structure(self) -> bytes:
        """The file with a token in place of each large byte string; the file itself where the walk fails.

        Raises TooManyFields before protobuf would make them, HoldsGroup before it would stop reading at one.
        """
        try:
            slim = self._walk(0, len(self._data), "Graph")
        except _Malformed:
            slim = None
        if slim is None:
            self._lifted.clear()
            return bytes(self._data)
        return slim

    def _walk(self, position: int, end: int, message: str) -> bytes | None:
        """The message between two positions with its blobs lifted; None if it holds none."""
        parts: list[bytes | memoryview] = []
        copied = position
        while position < end:
            self._fields_left -= 1
            if self._fields_left < 0:
                raise TooManyFields
            start = position
            key, position = self._varint(position, end)
            wire, field = key & 7, (message, key >> 3)
            if wire != _DELIMITED:
                position = self._skip(position, end, wire)
                continue
            length, position = self._varint(position, end)
            body, position = position, position + length
            if position > end:
                raise _Malformed
            if length < LIFT_FROM_BYTES:
                continue
            short = self._shorten(body, position, field)
            if short is not None:
                parts += [self._data[copied:start], _encode(key), _encode(len(short)), short]
                copied = position
        if not parts:
            return None
        return b"".join([*parts, self._data[copied:end]])

    def _shorten(self, start: int, end: int, field: tuple[str, int]) -> bytes | None:
        if field in BYTES_FIELDS:
            self._lifted.append(self._data[start:end])
            return self._prefix + (len(self._lifted) - 1).to_bytes(4, "little")
        inner = MESSAGE_FIELDS.get(field)
        return self._walk(start, end, inner) if inner else None

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while position < end and shift < 64:
            byte = self._data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
            shift += 7
        raise _Malformed

    def _skip(self, position: int, end: int, wire: int) -> int:
        if wire in _GROUPS:
            raise HoldsGroup
        if wire == _VARINT:
            return self._varint(position, end)[1]
        size = {_FIXED32: 4, _FIXED64: 8}.get(wire)
        if size is None or position + size > end:
            raise _Malformed
        return position + size


def _encode(value: int) -> bytes:
    """A varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _absent_prefix(data: bytes) -> bytes:
    """A token prefix that occurs nowhere in the file, so that no value of the file can be taken for a token."""
    number = 0
    while (prefix := b"\xffblob%d:" % number) in data:
        number += 1
    return prefix
