"""Strategies for arbitrary graphs, and the list of real files."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from kv260_runtime.xmodel import ArgDef, AttrDef, Attributes, Graph, Op, OpDef, Subgraph, Tensor
from kv260_runtime.xmodel.graph import DATA_TYPES

OLD_FORMAT = "yolov3_adas_vai11_old_format.xmodel"

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_scalars = {
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": _text,
    "bytes": st.one_of(st.binary(max_size=40), st.integers(4096, 9000).map(lambda size: b"\xffblob0:" * (size // 7))),
}
_map_kinds = ("int32", "uint32", "int64", "uint64", "string", "bytes")
_values = {
    **_scalars,
    **{f"{kind}_vec": st.lists(values, max_size=3) for kind, values in _scalars.items()},
    **{f"map_{kind}": st.dictionaries(_text, _scalars[kind], max_size=3) for kind in _map_kinds},
    **{
        f"map_{kind}_vec": st.dictionaries(_text, st.lists(_scalars[kind], max_size=2), max_size=2)
        for kind in _map_kinds
        if kind != "bytes"
    },
}
typed_values = st.sampled_from(sorted(_values)).flatmap(lambda kind: st.tuples(st.just(kind), _values[kind]))


@st.composite
def attributes(draw: st.DrawFn) -> Attributes:
    attrs = Attributes()
    for key, (kind, value) in draw(st.dictionaries(_text, typed_values, max_size=3)).items():
        attrs.set(key, value, kind)
    return attrs


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    shape = tuple(draw(st.lists(st.integers(0, 2**32 - 1), max_size=4)))
    dtype = f"{draw(st.sampled_from(DATA_TYPES))}{draw(st.sampled_from([1, 4, 8, 16, 32, 64]))}"
    return Tensor(draw(_text), shape, dtype, draw(attributes()))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A graph of up to six operators; arguments point backwards, and each operator is in at most one leaf."""
    ops: list[Op] = []
    for name in draw(st.lists(_text, min_size=1, max_size=6, unique=True)):
        earlier = st.lists(st.sampled_from([op.name for op in ops]), max_size=3) if ops else st.just([])
        args = draw(st.dictionaries(_text, earlier, max_size=2))
        ops.append(Op(name, draw(_text), draw(tensors()), args, draw(attributes())))
    root = Subgraph(draw(_text), [], draw(attributes()))
    nodes = [root]
    for op in ops:
        node = draw(st.sampled_from(nodes))
        if draw(st.booleans()):
            node.op_names.append(op.name)
        else:
            node.children.append(Subgraph(draw(_text), [op.name], draw(attributes())))
            nodes.append(node.children[-1])
    return Graph(draw(_text), ops, root, draw(attributes()), draw(st.lists(_op_defs(), max_size=2)))


@st.composite
def _op_defs(draw: st.DrawFn) -> OpDef:
    small = st.integers(0, 3)
    args = st.builds(ArgDef, _text, small, small, _text)
    attrs = st.builds(AttrDef, _text, small, st.none() | typed_values, small, _text)
    return OpDef(draw(_text), draw(st.lists(args, max_size=2)), draw(st.lists(attrs, max_size=2)), draw(_text))


def real_files(shared_dir: Path) -> list[Path]:
    """Every real file that this format covers."""
    files = sorted(path for path in (shared_dir / "xmodels").glob("*.xmodel") if path.name != OLD_FORMAT)
    assert len(files) >= 20
    return files
