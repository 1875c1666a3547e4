"""The few ONNX messages an execution plan needs, encoded by hand.

The `onnx` package would do, at 92 ms and tens of megabytes for an import that reads nothing (packaging_trials.md).
Field numbers are those of onnx.proto3; tests read the result back with that package.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kv260_runtime.execute.specs import Array

FLOAT, INT8, INT64 = 1, 3, 7
"""TensorProto.DataType."""

IR_VERSION = 8
OPSET = 13

Attribute = int | float | str | Sequence[int]

_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int8): INT8, np.dtype(np.int64): INT64}


def varint(value: int) -> bytes:
    """Base-128 encoding; negative numbers as 64-bit two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def _bytes(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def tensor(name: str, values: Array) -> bytes:
    """TensorProto with raw data."""
    dims = b"".join(_integer(1, size) for size in values.shape)
    raw = np.ascontiguousarray(values).tobytes()
    return dims + _integer(2, _TYPES[values.dtype]) + _text(8, name) + _bytes(9, raw)


def _attribute(name: str, value: Attribute) -> bytes:
    head = _text(1, name)
    if isinstance(value, str):
        return head + _text(4, value) + _integer(20, 3)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", value) + _integer(20, 1)
    if isinstance(value, int):
        return head + _integer(3, value) + _integer(20, 2)
    return head + b"".join(_integer(8, item) for item in value) + _integer(20, 7)


def node(op_type: str, inputs: Sequence[str], output: str, attributes: Mapping[str, Attribute]) -> bytes:
    """NodeProto with one output."""
    encoded = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(3, output) + _text(4, op_type)
    return encoded + b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())


def value_info(name: str, data_type: int, shape: Sequence[int]) -> bytes:
    """ValueInfoProto of a tensor of fixed shape."""
    dims = b"".join(_bytes(1, _integer(1, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _integer(1, data_type) + _bytes(2, dims)))


def model(
    nodes: Iterable[bytes], initializers: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    """ModelProto of one graph."""
    parts = [_bytes(1, item) for item in nodes]
    parts.append(_text(2, "plan"))
    parts += [_bytes(5, item) for item in initializers]
    parts += [_bytes(11, item) for item in inputs]
    parts += [_bytes(12, item) for item in outputs]
    opset = _bytes(8, _integer(2, OPSET))
    return _integer(1, IR_VERSION) + _bytes(7, b"".join(parts)) + opset
