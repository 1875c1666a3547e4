"""From a Graph to the bytes of an XModel; the same graph always gives the same bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from google.protobuf.message import EncodeError

from kv260_runtime.xmodel.attributes import Attributes, Message, Value
from kv260_runtime.xmodel.errors import XModelError
from kv260_runtime.xmodel.graph import DATA_TYPES, Graph, Op, OpDef, Subgraph, Tensor
from kv260_runtime.xmodel.schema import VALUE_KINDS, GraphMessage

_DTYPE = re.compile(f"({'|'.join(DATA_TYPES)})([0-9]+)")


def write_xmodel(graph: Graph, path: str | Path) -> None:
    """Write a file through a temporary name beside it, so that no reader ever sees half of it.

    XModelError if the graph cannot be encoded or the file not written.
    """
    path = Path(path)
    data = encode_xmodel(graph)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise XModelError(str(path), "", f"cannot be written: {error.strerror}") from error


def encode_xmodel(graph: Graph) -> bytes:
    """Serialize a graph; XModelError, naming the place, for a value that the format cannot hold.

    A Python float attribute is written as the format's 32-bit float unless its kind says `double`.
    """
    source = graph.source or graph.name
    message = GraphMessage()
    with _place(source, "graph"):
        message.name = graph.name
        _put_attrs(message.attrs, graph.attrs)
    for op in graph.ops:
        with _place(source, f"operator {op.name!r}"):
            _put_op(message.ops.add(), op)
    message.root.SetInParent()
    _put_subgraph(message.root, graph.root, source)
    for op_def in graph.op_defs:
        with _place(source, f"definition of {op_def.name!r}"):
            _put_op_def(message.op_defs.add(), op_def)
    with _place(source, ""):
        data: bytes = message.SerializeToString(deterministic=True)
    return data


@contextmanager
def _place(source: str, place: str) -> Iterator[None]:
    """Turn what protobuf thinks of a value into an error that names where it is."""
    try:
        yield
    except XModelError:
        raise
    except (TypeError, ValueError, AttributeError, EncodeError) as error:
        raise XModelError(source, place, f"cannot be written: {error}") from error


def _put_op(message: Message, op: Op) -> None:
    message.name, message.type = op.name, op.type
    _put_attrs(message.attrs, op.attrs)
    for name, producers in op.args.items():
        message.args.add(name=name, ops=producers)
    _put_tensor(message.tensor, op.tensor)


def _put_tensor(message: Message, tensor: Tensor) -> None:
    parts = _DTYPE.fullmatch(tensor.dtype)
    if parts is None:
        raise ValueError(f"tensor {tensor.name!r} has the unknown type {tensor.dtype!r}")
    message.name = tensor.name
    message.shape.extend(tensor.shape)
    message.data_type, message.bit_width = DATA_TYPES.index(parts[1]), int(parts[2])
    _put_attrs(message.attrs, tensor.attrs)


def _put_subgraph(message: Message, subgraph: Subgraph, source: str) -> None:
    with _place(source, f"subgraph {subgraph.name!r}"):
        message.name = subgraph.name
        message.ops.extend(subgraph.op_names)
        _put_attrs(message.attrs, subgraph.attrs)
    for child in subgraph.children:
        _put_subgraph(message.children.add(), child, source)


def _put_op_def(message: Message, op_def: OpDef) -> None:
    message.name, message.annotation = op_def.name, op_def.annotation
    for arg in op_def.args:
        message.args.add(
            name=arg.name, occurrence=arg.occurrence, data_type=arg.data_type, annotation=arg.annotation
        )
    for attr in op_def.attrs:
        entry = message.attrs.add(
            name=attr.name, occurrence=attr.occurrence, list_length=attr.list_length, annotation=attr.annotation
        )
        if attr.default is not None:
            _put_value(entry.default, *attr.default)


def _put_attrs(entries: Message, attrs: Attributes) -> None:
    for key in attrs:
        kind, value = attrs.typed(key)
        entry = entries.add(key=key)
        try:
            _put_value(entry.value, kind, value)
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"attribute {key!r}: {error}") from error


def _put_value(message: Message, kind: str, value: Value) -> None:
    if kind not in VALUE_KINDS:
        raise ValueError(f"is of the unknown kind {kind!r}")
    if kind in ("bool", "int32", "uint32", "int64", "uint64", "float", "double", "string"):
        setattr(message, kind, value)
        return
    box = getattr(message, kind)
    box.SetInParent()  # an empty list is a value too
    if kind == "bytes":
        box.value = bytes(value)
    elif not kind.startswith("map_"):
        box.value.extend(map(bytes, value) if kind == "bytes_vec" else value)
    else:
        for key, item in value.items():
            _put_item(box.value.add(key=key), kind, item)


def _put_item(entry: Message, kind: str, item: Value) -> None:
    if kind.endswith("_vec"):
        entry.value.SetInParent()
        entry.value.value.extend(item)
    elif kind == "map_bytes":
        entry.value.SetInParent()
        entry.value.value = bytes(item)
    else:
        entry.value = item
