"""The wire format of an XModel as a protobuf message class, built from a table (field numbers: board.md section 6).

Maps are declared as what they are on the wire, a repeated key and value, so that a file keeps the order of its entries
and reading followed by writing gives the same bytes.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# Kinds of values an attribute can hold, in the order of their field numbers.
NUMBERS = ("bool", "int32", "uint32", "int64", "uint64", "float", "double")
SCALARS = (*NUMBERS, "string", "bytes")
MAPS = ("int32", "uint32", "int64", "uint64", "string", "bytes")
MAPS_OF_VECTORS = ("int32", "uint32", "int64", "uint64", "string")

Fields = list[tuple[str, int, str]]
"""(name, number, type); `*` after the type repeats the field, `?` keeps whether it was present."""

_MESSAGES: dict[str, Fields] = {
    "Graph": [
        ("name", 1, "string"), ("ops", 5, "Op*"), ("root", 10, "Subgraph"), ("attrs", 11, "Attr*"),
        ("op_defs", 101, "OpDef*"),
    ],
    "Op": [
        ("name", 1, "string"), ("type", 2, "string"), ("attrs", 3, "Attr*"), ("args", 4, "Arg*"),
        ("tensor", 5, "Tensor"),
    ],
    "Arg": [("name", 1, "string"), ("ops", 2, "string*")],
    "Tensor": [
        ("name", 1, "string"), ("shape", 2, "uint32*"), ("data_type", 5, "int32"), ("bit_width", 6, "int32"),
        ("attrs", 10, "Attr*"),
    ],
    "Subgraph": [("name", 1, "string"), ("ops", 3, "string*"), ("attrs", 5, "Attr*"), ("children", 10, "Subgraph*")],
    "OpDef": [("name", 1, "string"), ("args", 2, "ArgDef*"), ("attrs", 3, "AttrDef*"), ("annotation", 4, "string")],
    "ArgDef": [
        ("name", 1, "string"), ("occurrence", 2, "int32"), ("data_type", 3, "int32"), ("annotation", 4, "string"),
    ],
    "AttrDef": [
        ("name", 1, "string"), ("occurrence", 3, "int32"), ("default", 4, "Value"), ("list_length", 6, "int32"),
        ("annotation", 7, "string"),
    ],
    "Attr": [("key", 1, "string?"), ("value", 2, "Value")],
    "boxed_bytes": [("value", 1, "bytes")],
}  # fmt: skip


def _value_messages() -> dict[str, Fields]:
    """`Value`, a union (scalars 4 to 12, vectors 13 to 21, maps 22 to 27, maps of vectors 28 to 32), and its parts."""
    messages: dict[str, Fields] = {}
    union: Fields = [(kind, number, kind) for number, kind in enumerate((*NUMBERS, "string"), start=4)]
    union.append(("bytes", 12, "boxed_bytes"))
    for number, kind in enumerate(SCALARS, start=13):
        messages[f"{kind}_vec"] = [("value", 1, f"{kind}*")]
        union.append((f"{kind}_vec", number, f"{kind}_vec"))
    values = [(kind, "boxed_bytes" if kind == "bytes" else f"{kind}?") for kind in MAPS]
    values += [(f"{kind}_vec", f"{kind}_vec") for kind in MAPS_OF_VECTORS]
    for number, (kind, value_type) in enumerate(values, start=22):
        messages[f"map_{kind}_entry"] = [("key", 1, "string?"), ("value", 2, value_type)]
        messages[f"map_{kind}"] = [("value", 1, f"map_{kind}_entry*")]
        union.append((f"map_{kind}", number, f"map_{kind}"))
    messages["Value"] = union
    return messages


_MESSAGES.update(_value_messages())
_TYPES = {(name, number): spec.rstrip("*?") for name, fields in _MESSAGES.items() for _, number, spec in fields}

VALUE_KINDS = tuple(name for name, _, _ in _MESSAGES["Value"])
BYTES_FIELDS = frozenset(place for place, kind in _TYPES.items() if kind == "bytes")
"""(message, field number) of the fields that hold bytes."""

MESSAGE_FIELDS = {place: kind for place, kind in _TYPES.items() if kind in _MESSAGES}
"""(message, field number) to the message that the field holds."""


def _graph_class() -> type[Any]:
    """Hand the table to protobuf, in a pool of its own so that the vendor's schema may live in the same process."""
    proto: Any = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="kvbench/xmodel.proto", package="kvbench.xmodel", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "Value":
            message.oneof_decl.add(name="kind")
        for field_name, number, spec in fields:
            kind = spec.rstrip("*?")
            field = message.field.add(name=field_name, number=number)
            field.label = proto.LABEL_REPEATED if spec.endswith("*") else proto.LABEL_OPTIONAL
            if kind in _MESSAGES:
                field.type, field.type_name = proto.TYPE_MESSAGE, f".kvbench.xmodel.{kind}"
            else:
                field.type = getattr(proto, f"TYPE_{kind.upper()}")
            if name == "Value":
                field.oneof_index = 0
            elif spec.endswith("?"):
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field_name}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return _class_of(pool)


def _class_of(pool: descriptor_pool.DescriptorPool) -> type[Any]:
    factory: Any = message_factory
    descriptor = pool.FindMessageTypeByName("kvbench.xmodel.Graph")
    if hasattr(factory, "GetMessageClass"):
        message_class = factory.GetMessageClass(descriptor)
    else:  # protobuf before 4.22
        message_class = factory.MessageFactory(pool).GetPrototype(descriptor)
    assert isinstance(message_class, type)
    return message_class


GraphMessage = _graph_class()
