"""What a file was compiled for, and one line for those that a DPUCZDX8G cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kv260_runtime.xmodel import (
    Attributes,
    Graph,
    Op,
    Subgraph,
    Tensor,
    XModelError,
    describe_rejection,
    read_xmodel,
    require_target,
)
from kv260_runtime.xmodel.target import dpu_size


def _graph(*subgraphs: dict[str, object]) -> Graph:
    op = Op("a", "data-fix", Tensor("a", (1,), "xint8"))
    children = [Subgraph(str(number), [], Attributes(attrs)) for number, attrs in enumerate(subgraphs)]
    return Graph("g", [op], Subgraph("root", ["a"], children=children), source="model.xmodel")


@pytest.mark.parametrize("target", ["DPUCZDX8G_ISA1_B4096", "DPUCZDX8G_ISA0_B4096_MAX_BG2", "DPUCZDX8G_ISA1_B512_01"])
def test_every_size_and_instruction_set_of_the_family_is_accepted(target: str) -> None:
    graph = _graph({"device": "USER"}, {"device": "DPU", "dpu_name": target})
    assert describe_rejection(graph) is None
    require_target(graph)
    assert graph.target == target


@pytest.mark.parametrize(
    ("subgraphs", "words"),
    [
        ([], "is not compiled for any DPU"),
        ([{"device": "CPU"}], "has no DPU subgraph that names its target"),
        ([{"device": "DPU"}], "has no DPU subgraph that names its target"),
        ([{"device": "DPU", "dpu_name": "DPUCVDX8G_ISA3_C32B6"}], r"is compiled for DPUCVDX8G_ISA3_C32B6 \(Versal"),
        ([{"device": "DPU", "dpu_name": "SOMETHING_ELSE"}], "is compiled for SOMETHING_ELSE: compile it for DPUCZDX8G"),
        (
            [{"device": "DPU", "dpu_name": "DPUCZDX8G_ISA1_B4096"}, {"device": "DPU", "dpu_name": "DPUCAHX8H_ISA2"}],
            "is compiled for DPUCAHX8H_ISA2",
        ),
    ],
)
def test_anything_else_is_refused_with_what_it_is(subgraphs: list[dict[str, object]], words: str) -> None:
    with pytest.raises(XModelError, match=f"^model.xmodel: {words}"):
        require_target(_graph(*subgraphs))


def test_the_low_byte_of_a_fingerprint_is_the_size() -> None:
    assert dpu_size(0x101000016010407) == "B4096"
    assert dpu_size(0x101000016010400) == "B512"
    assert dpu_size(0x1010000160104FF) is None


@pytest.mark.shared
def test_real_files_of_the_family_agree_with_the_size_in_their_fingerprint(shared_dir: Path) -> None:
    files = sorted((shared_dir / "xmodels").glob("*_b[0-9]*.xmodel"))
    assert len(files) > 10
    for path in files:
        graph = read_xmodel(path)
        assert describe_rejection(graph) is None
        assert graph.fingerprint is not None
        assert f"_{dpu_size(graph.fingerprint)}" in (graph.target or "")
