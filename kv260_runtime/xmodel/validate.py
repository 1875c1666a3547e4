"""What must hold of a file before anything else looks at it: sizes, names, arguments, the subgraph tree."""

from __future__ import annotations

from kv260_runtime.xmodel.attributes import Message
from kv260_runtime.xmodel.errors import XModelError
from kv260_runtime.xmodel.graph import DATA_TYPES, Graph, Op

# Far above any network that compiles, and low enough that a hostile file cannot make millions of Python objects.
MAX_OPERATORS = 100_000
MAX_DEFINITIONS = 10_000
MAX_SUBGRAPHS = 10_000
MAX_TOP_LEVEL_SUBGRAPHS = 1_000
MAX_DIMENSIONS = 16
MAX_BIT_WIDTH = 64


def check_message(message: Message, source: str) -> None:
    """Refuse a parsed file that is no XIR graph, is of the old format, or claims absurd sizes."""
    if not message.ops:
        raise XModelError(source, "", "is not an XModel: it holds no operator")
    if not message.HasField("root"):
        raise XModelError(source, "subgraph tree", "is missing: the file is truncated or no XModel")
    for what, count, limit in (
        ("operators", len(message.ops), MAX_OPERATORS),
        ("operator definitions", len(message.op_defs), MAX_DEFINITIONS),
        ("subgraphs", _count_subgraphs(message.root), MAX_SUBGRAPHS),
        ("top-level subgraphs", len(message.root.children), MAX_TOP_LEVEL_SUBGRAPHS),
    ):
        if count > limit:
            raise XModelError(source, "", f"claims {count} {what}, more than {limit}")
    if all(op.tensor.bit_width == 0 for op in message.ops):
        reason = "is of the old format of Vitis AI 1.1/1.2 (tensors without a type): compile it again"
        raise XModelError(source, "", reason)
    for op in message.ops:
        _check_tensor(op, source)


def _count_subgraphs(root: Message) -> int:
    """Nodes of the tree; no more of them are looked at than allowed."""
    count, stack = 1, [root]
    while stack and count <= MAX_SUBGRAPHS:
        node = stack.pop()
        count += len(node.children)
        if count <= MAX_SUBGRAPHS:
            stack.extend(node.children)
    return count


def _check_tensor(op: Message, source: str) -> None:
    tensor = op.tensor
    place = f"tensor {tensor.name!r} of operator {op.name!r}"
    if not 0 <= tensor.data_type < len(DATA_TYPES):
        raise XModelError(source, place, f"has the unknown data type {tensor.data_type}")
    if not 0 < tensor.bit_width <= MAX_BIT_WIDTH:
        raise XModelError(source, place, f"has {tensor.bit_width} bits an element")
    if len(tensor.shape) > MAX_DIMENSIONS:
        raise XModelError(source, place, f"has {len(tensor.shape)} dimensions, more than {MAX_DIMENSIONS}")


def check_graph(graph: Graph) -> None:
    """Refuse a graph whose names are not unique, whose arguments dangle or form a cycle, or whose subgraphs do."""
    seen: set[str] = set()
    names = {op.name for op in graph.ops}
    for op in graph.ops:
        if op.name in seen:
            raise XModelError(graph.source, f"operator {op.name!r}", "occurs twice")
        _check_arguments(graph, op, seen, names)
        seen.add(op.name)
    placed: set[str] = set()
    for subgraph in graph.root.walk():
        place = f"subgraph {subgraph.name!r}"
        for name in subgraph.op_names:
            if name not in names:
                raise XModelError(graph.source, place, f"lists the operator {name!r}, which is not in the graph")
            if name in placed:
                raise XModelError(graph.source, place, f"lists the operator {name!r}, which is in another subgraph too")
            placed.add(name)


def _check_arguments(graph: Graph, op: Op, before: set[str], names: set[str]) -> None:
    for argument, producers in op.args.items():
        for producer in producers:
            if producer in before:
                continue
            place = f"operator {op.name!r}, argument {argument!r}"
            if producer == op.name or producer in names:
                raise XModelError(graph.source, place, f"reads {producer!r}, which does not come before it (a cycle)")
            raise XModelError(graph.source, place, f"reads {producer!r}, which is not in the graph")
