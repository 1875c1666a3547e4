"""Reading: what is in a file, and what is said of one that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
)
from tests.unit.xmodel.graphs import OLD_FORMAT


def _op(name: str, *inputs: str, shape: tuple[int, ...] = (1, 8)) -> Op:
    return Op(name, "fix2float", Tensor(f"{name}_out", shape, "xint8"), {"input": list(inputs)} if inputs else {})


def _bytes(*ops: Op, root: Subgraph | None = None) -> bytes:
    return encode_xmodel(Graph("g", list(ops), root or Subgraph("root", [op.name for op in ops])))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"PK\x03\x04 not a graph", "is not an XModel"),
        (b"\x0a\x05graph", "holds no operator"),
        (_bytes(_op("a"), _op("b", "gone")), "operator 'b', argument 'input': reads 'gone', which is not in the graph"),
        (_bytes(_op("a", "b"), _op("b", "a")), "operator 'a', argument 'input': reads 'b', which does not come before"),
        (_bytes(_op("a", "a")), "reads 'a', which does not come before it"),
        (_bytes(_op("a"), _op("a")), "operator 'a': occurs twice"),
        (_bytes(_op("a"), root=Subgraph("root", ["z"])), "subgraph 'root': lists the operator 'z', which is not in"),
        (
            _bytes(_op("a"), root=Subgraph("root", [], children=[Subgraph("s", ["a"]), Subgraph("t", ["a"])])),
            "subgraph 't': lists the operator 'a', which is in another",
        ),
        (_bytes(_op("a", shape=(1,) * 17)), "has 17 dimensions"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_with_file_place_and_reason(data: bytes, words: str) -> None:
    with pytest.raises(XModelError) as caught:
        parse_xmodel(data, "model.xmodel")
    assert words in str(caught.value)
    assert str(caught.value).startswith("model.xmodel: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_ends_early_is_refused_wherever_it_ends() -> None:
    data = _bytes(_op("a"), _op("b", "a"))
    for end in range(len(data)):
        try:
            parse_xmodel(data[:end], "cut")
        except XModelError:
            continue
        raise AssertionError(f"{end} of {len(data)} bytes were accepted")


@pytest.mark.parametrize("field", [b"\x2a\x00", b"\x5a\x00", b"\xaa\x06\x00", b"\x52\x02\x52\x00"])
def test_a_million_tiny_fields_are_refused_before_they_become_objects(field: bytes) -> None:
    with pytest.raises(XModelError, match="claims more than 250000 fields"):
        parse_xmodel(_bytes(_op("a")) + field * 1_000_000, "hostile")


@pytest.mark.parametrize("group", [b"\x0c", b"\x0b\x0c\x0c", b"\x0c and more"])
def test_a_group_is_refused_and_not_taken_for_the_end(group: bytes) -> None:
    """protobuf 3.20 would give what lies before it, with a warning."""
    with pytest.raises(XModelError, match="no serialized XIR graph, or a truncated one"):
        parse_xmodel(_bytes(_op("a")) + group, "grouped")


def test_a_tree_of_too_many_subgraphs_is_refused() -> None:
    root = Subgraph("root", ["a"], children=[Subgraph(str(number)) for number in range(1_001)])
    with pytest.raises(XModelError, match="claims 1001 top-level subgraphs, more than 1000"):
        parse_xmodel(_bytes(_op("a"), root=root), "wide")


def test_subgraphs_nested_deeper_than_protobuf_allows_are_refused() -> None:
    deep = b""
    for _ in range(200):
        deep = b"\x52" + _length(deep) + deep
    with pytest.raises(XModelError, match="not an XModel"):
        parse_xmodel(_bytes(_op("a")) + deep, "deep")


def _length(data: bytes) -> bytes:
    size = len(data)
    return bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])


def test_what_is_no_regular_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "absent", "No such file"), (tmp_path, "regular"), (tmp_path / "pipe", "regular")):
        with pytest.raises(XModelError, match=words):
            read_xmodel(path)
    with pytest.raises(XModelError, match="cannot be read"):
        read_xmodel("a\0b")


def test_an_attribute_of_the_wrong_kind_is_refused_where_it_is_asked_for() -> None:
    graph = Graph("g", [_op("a")], Subgraph("root", [], children=[Subgraph("s", ["a"], Attributes({"device": 3}))]))
    read = parse_xmodel(encode_xmodel(graph), "odd")
    with pytest.raises(XModelError, match=r"odd: subgraph 's', attribute 'device': is of kind int32, expected string"):
        assert read.subgraphs[0].device


def test_large_bytes_are_looked_at_in_the_files_own_buffer() -> None:
    weights = os.urandom(5000)
    root = Subgraph("root", ["a"], Attributes({"weights": {"REG_0": weights}, "small": b"abc", "list": [weights, b""]}))
    data = _bytes(_op("a"), root=root)
    attrs = parse_xmodel(data, "model").root.attrs
    assert attrs["weights"]["REG_0"] == weights
    assert attrs["weights"]["REG_0"].obj is data
    assert attrs["list"] == [weights, b""]
    assert attrs["list"][0].obj is data
    assert attrs["small"] == b"abc"


def test_inputs_and_outputs_of_a_subgraph_are_the_tensors_that_cross_its_edge() -> None:
    first, second = Subgraph("first", ["a", "b"]), Subgraph("second", ["c", "d"])
    ops = (_op("a"), _op("b", "a"), _op("c", "b", "a"), _op("d", "c"))
    graph = parse_xmodel(_bytes(*ops, root=Subgraph("root", [], children=[first, second])), "model")
    assert [tensor.name for tensor in graph.input_tensors(graph.subgraphs[1])] == ["a_out", "b_out"]
    assert [tensor.name for tensor in graph.output_tensors(graph.subgraphs[0])] == ["a_out", "b_out"]
    assert [tensor.name for tensor in graph.output_tensors(graph.subgraphs[1])] == ["d_out"]
    assert graph.input_tensors(graph.subgraphs[0]) == []


@pytest.mark.shared
def test_the_old_format_is_refused_by_its_name(shared_dir: Path) -> None:
    with pytest.raises(XModelError, match=r"old format of Vitis AI 1\.1"):
        read_xmodel(shared_dir / "xmodels" / OLD_FORMAT)


@pytest.mark.shared
def test_a_compiled_file_says_its_target_devices_and_workload(shared_dir: Path) -> None:
    graph = read_xmodel(shared_dir / "xmodels" / "yolov5n_640_b4096.xmodel")
    assert graph.is_compiled
    assert graph.target == "DPUCZDX8G_ISA1_B4096"
    assert graph.fingerprint == 0x101000056010407
    assert [subgraph.device for subgraph in graph.subgraphs] == ["USER", "DPU", "CPU", "CPU", "CPU"]
    assert graph.on_device("DPU")[0].workload == 4488286000
    assert [tensor.shape for tensor in graph.input_tensors(graph.on_device("DPU")[0])] == [(1, 640, 640, 3)]
    assert graph.ops[0].tensor.fix_point is not None
