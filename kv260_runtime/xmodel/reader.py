"""From the bytes of an XModel to a Graph; whatever is wrong with them becomes an XModelError."""

from __future__ import annotations

from pathlib import Path

from google.protobuf.message import DecodeError

from kv260_runtime.xmodel.attributes import Attributes, Message
from kv260_runtime.xmodel.errors import XModelError
from kv260_runtime.xmodel.graph import ArgDef, AttrDef, Graph, Op, OpDef, Subgraph, Tensor
from kv260_runtime.xmodel.schema import GraphMessage

DATA_TYPES = ("int", "uint", "xint", "xuint", "float", "bfloat", "unknown")


def read_xmodel(path: str | Path) -> Graph:
    """Read a file; XModelError if it is absent, unreadable or no XModel."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise XModelError(str(path), "", f"cannot be read: {error.strerror}") from error
    return parse_xmodel(data, str(path))


def parse_xmodel(data: bytes, source: str) -> Graph:
    """Parse the bytes of a file; `source` is its name in error messages."""
    try:
        message = GraphMessage.FromString(data)
    except DecodeError as error:
        raise XModelError(source, "", "is not an XModel: not a serialized XIR graph") from error
    graph = Graph(
        name=message.name,
        ops=[_op(entry, source) for entry in message.ops],
        root=_subgraph(message.root, source),
        attrs=Attributes(pending=message.attrs, file=source, place="graph"),
        op_defs=[_op_def(entry, source) for entry in message.op_defs],
        source=source,
    )
    if not graph.ops:
        raise XModelError(source, "", "is not an XModel: it holds no operator")
    return graph


def _op(message: Message, source: str) -> Op:
    place = f"operator {message.name!r}"
    return Op(
        name=message.name,
        type=message.type,
        tensor=_tensor(message.tensor, source),
        args={arg.name: list(arg.ops) for arg in message.args},
        attrs=Attributes(pending=message.attrs, file=source, place=place),
    )


def _tensor(message: Message, source: str) -> Tensor:
    place = f"tensor {message.name!r}"
    if not 0 <= message.data_type < len(DATA_TYPES):
        raise XModelError(source, place, f"has the unknown data type {message.data_type}")
    return Tensor(
        name=message.name,
        shape=tuple(message.shape),
        dtype=f"{DATA_TYPES[message.data_type]}{message.bit_width}",
        attrs=Attributes(pending=message.attrs, file=source, place=place),
    )


def _subgraph(message: Message, source: str) -> Subgraph:
    return Subgraph(
        name=message.name,
        op_names=list(message.ops),
        attrs=Attributes(pending=message.attrs, file=source, place=f"subgraph {message.name!r}"),
        children=[_subgraph(child, source) for child in message.children],
    )


def _op_def(message: Message, source: str) -> OpDef:
    args = [ArgDef(arg.name, arg.occurrence, arg.data_type, arg.annotation) for arg in message.args]
    attrs = []
    for attr in message.attrs:
        holder = Attributes(pending=[_Entry(attr.default)], file=source, place=f"definition of {message.name!r}")
        default = holder.typed("default") if attr.default.WhichOneof("kind") else None
        attrs.append(AttrDef(attr.name, attr.occurrence, default, attr.list_length, attr.annotation))
    return OpDef(message.name, args, attrs, message.annotation)


class _Entry:
    key = "default"

    def __init__(self, value: Message) -> None:
        self.value = value
