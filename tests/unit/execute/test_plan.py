"""Planning: what is refused before anything runs, what is folded, dropped and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute import computed_tensors, open_executor
from kv260_runtime.execute.plan import make_plan
from kv260_runtime.xmodel import Attributes, Graph, Subgraph, XModelError, encode_xmodel, parse_xmodel
from tests.unit.execute.graphs import WINDOW, Builder
from tests.unit.execute.running import needs_onnxruntime, units


def chain() -> Builder:
    """Input, convolution, pooling, float output."""
    graph = Builder()
    graph.input((1, 4, 4, 2), 5)
    graph.constant(np.ones((3, 1, 1, 2), np.int8), 6)
    graph.add("c", "conv2d-fix", (1, 4, 4, 3), {"input": ["x"], "weights": ["w"]}, 4, **WINDOW, nonlinear="RELU")
    window = {"kernel": [2, 2], "stride": [2, 2], "pad": [0, 0, 0, 0]}
    graph.add("p", "pool-fix", (1, 2, 2, 3), {"input": ["c"]}, 4, type="MAX", **window)
    graph.add("y", "fix2float", (1, 2, 2, 3), {"input": ["p"]}, fix_point=4)
    return graph


def test_all_unknown_operator_types_are_named_in_one_line() -> None:
    graph = chain()
    graph.add("a", "Mylayer", (1, 2, 2, 3), {"input": ["y"]})
    graph.add("b", "PPScatterV2", (1, 2, 2, 3), {"input": ["a"]})
    graph.add("c2", "Mylayer", (1, 2, 2, 3), {"input": ["b"]})
    with pytest.raises(
        ModelRejected, match=r"^small.xmodel: .* 'Mylayer' \(2\), 'PPScatterV2' \(1\); register_operator"
    ):
        make_plan(graph.graph())


def compiled(dpu_name: str | None) -> Graph:
    """The chain as one DPU subgraph."""
    graph = chain().graph()
    attrs = {"device": "DPU"} if dpu_name is None else {"device": "DPU", "dpu_name": dpu_name}
    child = Subgraph("dpu", [op.name for op in graph.ops], Attributes(attrs))
    return Graph("small", graph.ops, Subgraph("root", children=[child]), source="small.xmodel")


@pytest.mark.parametrize("target", ["DPUCZDX8G_ISA1_B4096", "DPUCZDX8G_ISA0_B4096_MAX_BG2"])
def test_both_instruction_sets_of_the_edge_dpu_are_planned(target: str) -> None:
    assert len(make_plan(compiled(target)).steps) == 3


@pytest.mark.parametrize("target", ["DPUCVDX8G_ISA3_C32B6", "DPUCAHX8H_ISA2", "AMD_AIE2_Nx4_Overlay"])
def test_another_target_is_refused_by_name(target: str) -> None:
    with pytest.raises(ModelRejected, match=f"^small.xmodel: is compiled for {target!r}; only DPUCZDX8G"):
        make_plan(compiled(target))


def test_a_dpu_subgraph_without_a_target_is_refused() -> None:
    with pytest.raises(ModelRejected, match="name no target"):
        make_plan(compiled(None))


def test_a_graph_of_inputs_alone_is_refused() -> None:
    graph = Builder()
    graph.input((2147483647,))
    with pytest.raises(ModelRejected, match="holds no operator to execute"):
        make_plan(graph.graph())


def test_constants_are_unpacked_and_folded_once() -> None:
    """As in quantised files: the weights pass through `fix`, the shape through `stack`."""
    graph = Builder()
    graph.add("x", "data", (1, 3))
    graph.constant(np.arange(6).reshape(2, 3) / 4, None)
    graph.add("f", "fix", (2, 3), {"input": ["w"]}, fix_point=1, bit_width=8)
    graph.add("m", "matmul", (1, 2), {"input": ["x", "f"]}, transpose_b=True)
    plan = make_plan(graph.graph())
    assert [step.name for step in plan.steps] == ["m"]
    assert plan.constants["f"].tolist() == [[0, 0.5, 0.5], [1, 1, 1.5]]


def test_what_no_output_needs_is_not_computed() -> None:
    graph = chain()
    whole = make_plan(graph.graph())
    assert [step.name for step in whole.steps] == ["c", "p", "y"]
    head = Subgraph("head", ["x", "w", "c"])
    full = graph.graph()
    full.root.children.append(head)
    assert [step.name for step in make_plan(full, head).steps] == ["c"]


def test_a_subgraph_reads_what_is_made_outside_of_it() -> None:
    full = chain().graph()
    tail = Subgraph("tail", ["p", "y"])
    full.root.children.append(tail)
    executor = open_executor(full, tail, "integer")
    assert [(spec.name, spec.dtype, spec.fix_point) for spec in executor.inputs] == [("c_fix", "int8", 4)]
    image = np.arange(48).reshape(1, 4, 4, 3).astype(np.int8)
    expected = image.reshape(1, 2, 2, 2, 2, 3).max((2, 4)) / 16
    np.testing.assert_array_equal(executor.run({"c_fix": image})["y_fix"], expected)


def test_a_kept_tensor_that_does_not_exist_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ModelRejected, match=r"has no tensor 'p_fx'; did you mean 'p_fix'\?"):
        make_plan(chain().graph(), keep=["p_fx"])


@needs_onnxruntime
def test_kept_tensors_come_out_of_the_middle_of_a_session() -> None:
    graph = chain().graph()
    names = computed_tensors(graph)
    assert names == ["c_fix", "p_fix", "y_fix"]
    image = np.arange(-16, 16).reshape(1, 4, 4, 2).astype(np.int8)
    plain, session = (open_executor(graph, backend=name, keep=names) for name in ("integer", "onnxruntime"))
    expected, found = plain.run({"x_fix": image}), session.run({"x_fix": image})
    assert set(expected) == set(names)
    for name in names:
        np.testing.assert_array_equal(expected[name], found[name])


@needs_onnxruntime
def test_steps_of_one_kind_share_a_session_though_others_stand_between_them() -> None:
    graph = Builder()
    graph.input((1, 2, 2, 1), 5)
    for name in ("a", "b"):
        graph.add(name, "eltwise-fix", (1, 2, 2, 1), {"input": ["x"]}, 4, type="ADD")
        graph.add(f"{name}_real", "fix2float", (1, 2, 2, 1), {"input": [name]}, fix_point=4)
    graph.add("ab", "eltwise-fix", (1, 2, 2, 1), {"input": ["a", "b"]}, 4, type="ADD")
    assert units(graph.graph()) == ["SessionUnit", "KernelUnit", "KernelUnit"]


def test_a_constant_without_its_bytes_is_refused() -> None:
    graph = chain().graph()
    graph.op("w").attrs["data"] = b"123"
    with pytest.raises(ModelRejected, match="constant 'w' has 3 bytes, its tensor needs 6"):
        make_plan(graph)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda attrs: attrs.update(ddr_addr=60), "lies at 60..66 of REG_0, which has 64 bytes"),
        (lambda attrs: attrs.update(reg_id=1), "has no values in the file"),
        (lambda attrs: attrs.pop("ddr_addr"), "has no values in the file"),
    ],
)
def test_a_constant_outside_of_its_block_is_refused(change: Callable[[Attributes], Any], message: str) -> None:
    graph = compiled("DPUCZDX8G_ISA1_B4096")
    graph.root.children[0].attrs["reg_id_to_parameter_value"] = {"REG_0": bytes(range(64))}
    del graph.op("w").attrs["data"]
    place = graph.op("w").tensor.attrs
    place.update(reg_id=0, ddr_addr=8)
    plan = make_plan(graph)
    assert plan.steps[0].kernel.parameters.weights.ravel().tolist() == list(range(8, 14))  # type: ignore[attr-defined]
    change(place)
    with pytest.raises(ModelRejected, match=message):
        make_plan(graph)


SOURCES = [encode_xmodel(chain().graph()), encode_xmodel(compiled("DPUCZDX8G_ISA1_B4096"))]


@settings(max_examples=300)
@given(st.sampled_from(SOURCES), st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_file_is_planned_or_refused_and_nothing_else(source: bytes, changes: list[tuple[int, int]]) -> None:
    data = bytearray(source)
    for place, value in changes:
        data[place % len(data)] = value
    try:
        make_plan(parse_xmodel(bytes(data), "damaged"))
    except (ModelRejected, XModelError) as error:
        assert "\n" not in str(error)
