"""Attributes of graphs, operators, tensors and subgraphs: a mapping whose values know their kind in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from kv260_runtime.xmodel.errors import XModelError

Value = Any
"""bool, int, float, str, bytes-like, a list of one of them, or a dict from str to one of them or to such a list."""

Message = Any
"""A protobuf message of the schema; its class is made at run time."""

INTEGERS = ("int32", "uint32", "int64", "uint64")
_RANGES = {"int32": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1), "uint64": (0, (1 << 64) - 1)}


@dataclass(frozen=True)
class Origin:
    """Where attributes were read from: the file and place for error messages, and how the file's bytes are resolved."""

    file: str = ""
    place: str = ""
    resolve: Callable[[bytes], bytes | memoryview] = memoryview

    def fault(self, key: str, reason: str) -> XModelError:
        """The error that names an attribute."""
        return XModelError(self.file, f"{self.place}, attribute {key!r}", reason)


class Attributes(MutableMapping[str, Value]):
    """Values by key, in the order of the file; each is decoded at the first look at it.

    Bytes read from a file come as a read-only memoryview of the file's own buffer.
    """

    __slots__ = ("_messages", "_origin", "_pending", "_typed")

    def __init__(
        self, values: Mapping[str, Value] | None = None, pending: Iterable[Message] = (), origin: Origin | None = None
    ) -> None:
        """Start from plain values, or from entries of a file (`pending`, decoded later)."""
        self._pending: Iterable[Message] | None = pending
        self._messages: dict[str, Message] = {}
        self._typed: dict[str, tuple[str, Value]] = {}
        self._origin = origin or Origin()
        for key, value in (values or {}).items():
            self.set(key, value)

    def _index(self) -> dict[str, Message]:
        """Entries by key, None for a value already decoded. The last of equal keys holds, as in protobuf."""
        if self._pending is not None:
            self._messages, self._pending = {entry.key: entry.value for entry in self._pending}, None
        return self._messages

    def typed(self, key: str) -> tuple[str, Value]:
        """(kind, value); KeyError without the key, XModelError if the entry holds no value."""
        message = self._index()[key]
        if message is not None:
            value = decode(message, self._origin.resolve)
            if value is None:
                raise self._origin.fault(key, "holds no value")
            self._typed[key] = value
            self._messages[key] = None
        return self._typed[key]

    def set(self, key: str, value: Value, kind: str | None = None) -> None:
        """Set a value; `kind` where the file's kind is not the one that `kind_of` would choose."""
        self._index()[key] = None
        self._typed[key] = (kind or kind_of(value), value)

    def expect(self, key: str, kinds: tuple[str, ...], default: Value = None) -> Value:
        """The value, or `default` without the key; XModelError if it is of another kind than `kinds`."""
        if key not in self:
            return default
        kind, value = self.typed(key)
        if kind not in kinds:
            raise self._origin.fault(key, f"is of kind {kind}, expected {' or '.join(kinds)}")
        return value

    def fault(self, key: str, reason: str) -> XModelError:
        """The error to raise for a value that is of the right kind and still wrong."""
        return self._origin.fault(key, reason)

    def __getitem__(self, key: str) -> Value:
        return self.typed(key)[1]

    def __setitem__(self, key: str, value: Value) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        del self._index()[key]
        self._typed.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self._index()

    def __iter__(self) -> Iterator[str]:
        return iter(self._index())

    def __len__(self) -> int:
        return len(self._index())

    def __eq__(self, other: object) -> bool:
        """Equal keys, kinds and values; the order does not count."""
        if not isinstance(other, Attributes):
            return NotImplemented
        return self.keys() == other.keys() and all(self.typed(key) == other.typed(key) for key in self)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"Attributes({', '.join(self)})"


def kind_of(value: Value) -> str:
    """The kind under which a plain value is written: an int as the first of int32, int64, uint64 that holds it.

    Raises ValueError for a value that the format cannot hold.
    """
    if isinstance(value, Mapping):
        return f"map_{_common({kind_of(item) for item in value.values()} or {'string'})}"
    if isinstance(value, (list, tuple)):
        return f"{_common({kind_of(item) for item in value} or {'int32'})}_vec"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        for kind, (low, high) in _RANGES.items():
            if low <= value <= high:
                return kind
        raise ValueError(f"{value} does not fit into 64 bits")
    for plain, kind in ((float, "float"), (str, "string"), ((bytes, bytearray, memoryview), "bytes")):
        if isinstance(value, plain):
            return kind
    raise ValueError(f"an attribute cannot be a {type(value).__name__}")


def _common(kinds: set[str]) -> str:
    if len(kinds) == 1:
        return next(iter(kinds))
    for wide in ("int64", "uint64"):
        if kinds == {"int32", wide}:
            return wide
    raise ValueError(f"an attribute cannot mix {', '.join(sorted(kinds))}")


def decode(message: Message, resolve: Callable[[bytes], bytes | memoryview]) -> tuple[str, Value] | None:
    """(kind, plain value) of a union; None if it holds nothing."""
    kind: str | None = message.WhichOneof("kind")
    if kind is None:
        return None
    value = getattr(message, kind)
    if kind == "bytes":
        return kind, resolve(value.value)
    if kind == "bytes_vec":
        return kind, [resolve(item) for item in value.value]
    if kind == "map_bytes":
        return kind, {entry.key: resolve(entry.value.value) for entry in value.value}
    if kind.startswith("map_"):
        vectors = kind.endswith("_vec")
        return kind, {entry.key: list(entry.value.value) if vectors else entry.value for entry in value.value}
    return kind, list(value.value) if kind.endswith("_vec") else value
