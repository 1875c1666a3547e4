"""From the bytes of an XModel to a Graph; whatever is wrong with them becomes an XModelError."""

from __future__ import annotations

import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

from google.protobuf.message import DecodeError

from kv260_runtime.xmodel.attributes import Attributes, Message, Origin, decode
from kv260_runtime.xmodel.blobs import MOST_FIELDS, Blobs, HoldsGroup, TooManyFields
from kv260_runtime.xmodel.errors import XModelError
from kv260_runtime.xmodel.graph import DATA_TYPES, ArgDef, AttrDef, Graph, Op, OpDef, Subgraph, Tensor
from kv260_runtime.xmodel.schema import GraphMessage
from kv260_runtime.xmodel.validate import check_graph, check_message

MAX_FILE_BYTES = (1 << 31) - 1  # what protobuf can hold

Place = Callable[[str], Origin]


def read_xmodel(path: str | Path) -> Graph:
    """Read a file; XModelError if it is absent, unreadable or no XModel."""
    try:
        data = _read_regular_file(Path(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise XModelError(str(path), "", f"cannot be read: {reason}") from error
    return parse_xmodel(data, str(path))


def _read_regular_file(path: Path) -> bytes:
    """Refuse what would never end (a device, a pipe) before opening it."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    if status.st_size > MAX_FILE_BYTES:
        raise ValueError(f"it has {status.st_size} bytes, an XModel at most {MAX_FILE_BYTES}")
    return path.read_bytes()


def parse_xmodel(data: bytes, source: str) -> Graph:
    """Parse the bytes of a file; `source` is its name in error messages.

    Large byte strings are not copied: attribute values look into `data`, which lives as long as the graph.
    """
    if not data:
        raise XModelError(source, "", "is not an XModel: it is empty")
    blobs = Blobs(data)
    try:
        message = GraphMessage.FromString(blobs.structure())
    except TooManyFields:
        raise XModelError(source, "", f"claims more than {MOST_FIELDS} fields, beyond any network") from None
    except (DecodeError, HoldsGroup, RecursionError) as error:
        raise XModelError(source, "", "is not an XModel: no serialized XIR graph, or a truncated one") from error
    check_message(message, source)
    place: Place = partial(Origin, source, resolve=blobs.resolve)
    graph = Graph(
        name=message.name,
        ops=[_op(entry, place) for entry in message.ops],
        root=_subgraph(message.root, place),
        attrs=Attributes(pending=message.attrs, origin=place("graph")),
        op_defs=[_op_def(entry, blobs.resolve) for entry in message.op_defs],
        source=source,
    )
    check_graph(graph)
    return graph


def _op(message: Message, place: Place) -> Op:
    args: dict[str, list[str]] = {}
    for arg in message.args:
        args.setdefault(arg.name, []).extend(arg.ops)
    attrs = Attributes(pending=message.attrs, origin=place(f"operator {message.name!r}"))
    return Op(message.name, message.type, _tensor(message.tensor, place), args, attrs)


def _tensor(message: Message, place: Place) -> Tensor:
    dtype = f"{DATA_TYPES[message.data_type]}{message.bit_width}"
    attrs = Attributes(pending=message.attrs, origin=place(f"tensor {message.name!r}"))
    return Tensor(message.name, tuple(message.shape), dtype, attrs)


def _subgraph(message: Message, place: Place) -> Subgraph:
    attrs = Attributes(pending=message.attrs, origin=place(f"subgraph {message.name!r}"))
    children = [_subgraph(child, place) for child in message.children]
    return Subgraph(message.name, list(message.ops), attrs, children)


def _op_def(message: Message, resolve: Callable[[bytes], bytes | memoryview]) -> OpDef:
    args = [ArgDef(arg.name, arg.occurrence, arg.data_type, arg.annotation) for arg in message.args]
    attrs = []
    for attr in message.attrs:
        default = decode(attr.default, resolve)
        attrs.append(AttrDef(attr.name, attr.occurrence, default, attr.list_length, attr.annotation))
    return OpDef(message.name, args, attrs, message.annotation)
