"""Broken XModels from real ones: bytes damaged blindly, and graphs damaged with knowledge of the format."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from google.protobuf.message import DecodeError, EncodeError

from kv260_runtime.xmodel.attributes import Message
from kv260_runtime.xmodel.instructions import WORDS
from kv260_runtime.xmodel.schema import GraphMessage

HUGE_LENGTHS = (b"\xff\xff\xff\xff\x0f", b"\xff" * 8 + b"\x7f", b"\x80\x80\x80\x80\x08", b"\xff\xff\x7f")
SHORT_FIELDS = (b"\x2a\x00", b"\x5a\x00", b"\xaa\x06\x00", b"\x52\x02\x52\x00", b"\x2a\x04\x0a\x02ab")
REPEATED_MOST = 200_000
KEPT_DEFINITIONS, KEPT_BLOB_BYTES, KEPT_PROGRAM_BYTES = 3, 6000, 2000

Mutation = Callable[[random.Random, bytes], bytes]


def reduced(data: bytes) -> bytes:
    """The same graph with few operator definitions and short blobs, so that damage hits what matters, and quickly."""
    message = GraphMessage.FromString(data)
    del message.op_defs[KEPT_DEFINITIONS:]
    stack = [message.root]
    while stack:
        subgraph = stack.pop()
        stack.extend(subgraph.children)
        for attr in subgraph.attrs:
            if attr.value.WhichOneof("kind") == "bytes":
                attr.value.bytes.value = _whole_instructions(attr.value.bytes.value)
            for entry in attr.value.map_bytes.value:
                entry.value.value = entry.value.value[:KEPT_BLOB_BYTES]
    return bytes(message.SerializeToString())


def _whole_instructions(program: bytes) -> bytes:
    """The beginning of a program, cut between two instructions; of anything else, the beginning."""
    end = 0
    while end < min(len(program), KEPT_PROGRAM_BYTES):
        end += 4 * WORDS.get(program[end + 3] >> 4, 1) if end + 3 < len(program) else 4
    return program[:end]


def mutate(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One broken file: a seed with one to four mutations, now and then two seeds spliced or plain noise."""
    data = min(rng.choice(seeds), rng.choice(seeds), key=len)  # small files tell as much, sooner
    if rng.random() < 0.03:
        other = rng.choice(seeds)
        data = data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]
    elif rng.random() < 0.01:
        data = rng.randbytes(rng.randrange(200))
    for _ in range(rng.choice((1, 1, 2, 4))):
        if data:
            data = rng.choice(MUTATIONS)(rng, data)
    return data


def _truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def _flip_bits(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 8, 64))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _overwrite(rng: random.Random, data: bytes) -> bytes:
    at, size = rng.randrange(len(data)), rng.choice((1, 4, 16, 256))
    noise = rng.choice((rng.randbytes(size), b"\xff" * size, b"\x00" * size))
    return data[:at] + noise + data[at + size :]


def _move_piece(rng: random.Random, data: bytes) -> bytes:
    """Delete, repeat or insert a piece."""
    start, size = rng.randrange(len(data)), rng.choice((1, 5, 40, 1000))
    piece, at = data[start : start + size], rng.randrange(len(data))
    deleted, inserted = data[:start] + data[start + size :], data[:at] + piece + data[at:]
    return rng.choice((deleted, inserted, data[:start] + piece * 3 + data[start:]))


def _claim_huge(rng: random.Random, data: bytes) -> bytes:
    """A length that no file has."""
    at = rng.randrange(len(data))
    huge = rng.choice(HUGE_LENGTHS)
    return data[:at] + huge + data[at + rng.choice((1, len(huge))) :]


def _repeat_field(rng: random.Random, data: bytes) -> bytes:
    """A short field many times: two bytes of file that cost an object each."""
    return data + rng.choice(SHORT_FIELDS) * rng.randrange(REPEATED_MOST // (20 if rng.random() < 0.95 else 1))


def _damage_graph(rng: random.Random, data: bytes) -> bytes:
    """Damage the parsed graph; the bytes as they are if they do not parse."""
    try:
        message = GraphMessage.FromString(data)
        if message.ops:
            rng.choice(GRAPH_MUTATIONS)(rng, message)
        return bytes(message.SerializeToString())
    except (DecodeError, EncodeError):
        return data


def _rewire(rng: random.Random, message: Message) -> None:
    """Arguments that dangle, or form a cycle."""
    op = rng.choice(message.ops)
    target = rng.choice(("", "nothing", op.name, rng.choice(message.ops).name))
    op.args.add(name=rng.choice(("input", "weights", "bias")), ops=[target])


def _rename(rng: random.Random, message: Message) -> None:
    rng.choice(message.ops).name = rng.choice(("", "x", rng.choice(message.ops).name))
    rng.choice(message.ops).type = rng.choice(("", "conv2d-fix", "const-fix", "upload", "concat-fix", "unheard-of"))


def _reshape(rng: random.Random, message: Message) -> None:
    shape = rng.choice(message.ops).tensor
    del shape.shape[:]
    shape.shape.extend(rng.choice(([], [0], [2**32 - 1] * 4, [2**32 - 1] * 5000, [1, 2, 3])))
    shape.data_type = rng.choice((0, 2, 4, 6, 7, -1, 2**31 - 1))
    shape.bit_width = rng.choice((0, 1, 8, 32, -8, 2**31 - 1))


def _lose_attribute(rng: random.Random, message: Message) -> None:
    attrs = _some_attrs(rng, message)
    if attrs:
        del attrs[rng.randrange(len(attrs))]


def _change_attribute(rng: random.Random, message: Message) -> None:
    """Another kind under a known key, or no value at all."""
    attrs = _some_attrs(rng, message)
    if attrs:
        attr = rng.choice(attrs)
        kind = rng.choice(("int32", "string", "bool", "float", "uint64", None))
        attr.value.Clear()
        if kind is not None:
            values = {"int32": -1, "string": "DPU", "bool": True, "float": float("nan"), "uint64": 2**64 - 1}
            setattr(attr.value, kind, values[kind])


def _exchange_attributes(rng: random.Random, message: Message) -> None:
    first, second = _some_attrs(rng, message), _some_attrs(rng, message)
    if first and second:
        rng.choice(first).value.CopyFrom(rng.choice(second).value)


def _shuffle_tree(rng: random.Random, message: Message) -> None:
    """Subgraphs that list strangers, or the same operator twice, or nest deep."""
    node = message.root
    for _ in range(rng.choice((0, 1, 2))):
        if node.children:
            node = rng.choice(node.children)
    node.ops.append(rng.choice(("", "nothing", rng.choice(message.ops).name)))
    for _ in range(rng.choice((0, 1, 90))):
        node = node.children.add(name="deep")


def _some_attrs(rng: random.Random, message: Message) -> Message:
    op = rng.choice(message.ops)
    subgraph = rng.choice(message.root.children) if message.root.children else message.root
    return rng.choice((op.attrs, op.tensor.attrs, message.attrs, message.root.attrs, subgraph.attrs, subgraph.attrs))


GRAPH_MUTATIONS = (
    _rewire,
    _rename,
    _reshape,
    _lose_attribute,
    _change_attribute,
    _exchange_attributes,
    _shuffle_tree,
)
MUTATIONS: tuple[Mutation, ...] = (
    _truncate,
    _flip_bits,
    _flip_bits,
    _overwrite,
    _move_piece,
    _claim_huge,
    _repeat_field,
    _damage_graph,
    _damage_graph,
    _damage_graph,
)
