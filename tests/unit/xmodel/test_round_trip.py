"""Writing what was read, and reading what was written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from kv260_runtime.xmodel import (
    Attributes,
    Graph,
    Op,
    Subgraph,
    Tensor,
    XModelError,
    encode_xmodel,
    parse_xmodel,
    read_xmodel,
    write_xmodel,
)
from tests.unit.xmodel.graphs import graphs, real_files


@pytest.mark.shared
def test_every_real_file_is_written_byte_for_byte_as_it_was_read(shared_dir: Path) -> None:
    for path in real_files(shared_dir):
        data = path.read_bytes()
        graph = parse_xmodel(data, path.name)
        written = encode_xmodel(graph)
        assert written == data, path.name
        assert parse_xmodel(written, path.name) == graph


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_any_graph_reads_back_equal_and_writes_the_same_bytes_again(graph: Graph) -> None:
    data = encode_xmodel(graph)
    read = parse_xmodel(data, "generated")
    assert read == graph
    assert encode_xmodel(read) == data == encode_xmodel(graph)


def _graph(**attrs: object) -> Graph:
    op = Op("a", "data", Tensor("a", (1, 2), "xint8"), attrs=Attributes(attrs))
    return Graph("g", [op], Subgraph("root", ["a"]))


def test_a_graph_that_differs_in_the_kind_of_one_number_is_another_graph() -> None:
    graph, other = _graph(x=1), _graph(x=1)
    assert graph == other
    other.ops[0].attrs.set("x", 1, "uint64")
    assert graph != other


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("int32", 2**31, "attribute 'x'"),
        ("string", "\ud800", "attribute 'x'"),
        ("int32", "one", "attribute 'x'"),
        ("map_int32", {"k": "v"}, "attribute 'x'"),
        ("complex", 1, "unknown kind 'complex'"),
    ],
)
def test_a_value_the_format_cannot_hold_is_refused_by_its_place(kind: str, value: object, reason: str) -> None:
    graph = _graph()
    graph.ops[0].attrs.set("x", value, kind)
    with pytest.raises(XModelError, match=reason) as caught:
        encode_xmodel(graph)
    assert caught.value.place == "operator 'a'"


def test_an_unknown_tensor_type_is_refused() -> None:
    graph = _graph()
    graph.ops[0].tensor.dtype = "int8x"
    with pytest.raises(XModelError, match="unknown type 'int8x'"):
        encode_xmodel(graph)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "model.xmodel"
    target.write_bytes(b"old")
    broken = _graph()
    broken.ops[0].attrs.set("x", 2**40, "int32")
    with pytest.raises(XModelError):
        write_xmodel(broken, target)
    assert target.read_bytes() == b"old"
    write_xmodel(_graph(x=1), target)
    assert read_xmodel(target) == _graph(x=1)
    assert [path.name for path in tmp_path.iterdir()] == ["model.xmodel"]


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(XModelError, match="cannot be written: No such file or directory") as caught:
        write_xmodel(_graph(), tmp_path / "absent" / "model.xmodel")
    assert "\n" not in str(caught.value)
