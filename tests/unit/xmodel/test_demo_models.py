"""The demo models: the structure of the paper's Table 5, equal arithmetic, and files that look like the compiler's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.execute import open_executor
from kv260_runtime.xmodel import Attributes, Graph, encode_xmodel, parse_xmodel, read_xmodel, static_traffic
from tests.unit.xmodel.graphs import real_files
from virtual_board.models import demo_graph, write_demo_models
from virtual_board.models_memory import Workspace

TARGET = "DPUCZDX8G_ISA1_B4096"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Graph]:
    fragmented, consolidated = write_demo_models(tmp_path_factory.mktemp("models"))
    assert (fragmented.name, consolidated.name) == ("c2f_fragmented_512.xmodel", "c2f_consolidated_512.xmodel")
    return read_xmodel(fragmented), read_xmodel(consolidated)


def _table5(graph: Graph) -> tuple[int, Counter[str | None], Counter[str]]:
    operators = Counter(op.type for subgraph in graph.on_device("CPU") for op in graph.ops_of(subgraph))
    return len(graph.subgraphs), Counter(subgraph.device for subgraph in graph.subgraphs), operators


def test_the_partition_is_that_of_table_5(models: tuple[Graph, Graph]) -> None:
    fragmented, consolidated = models
    split = {"strided_slice": 16, "float2fix": 16, "fix2float": 19}
    assert _table5(fragmented) == (29, {"USER": 1, "DPU": 9, "CPU": 19}, split)
    assert _table5(consolidated) == (5, {"USER": 1, "DPU": 1, "CPU": 3}, {"fix2float": 3})


def test_both_do_the_same_18_billion_operations_in_unequal_parts(models: tuple[Graph, Graph]) -> None:
    workloads = [[subgraph.workload or 0 for subgraph in graph.on_device("DPU")] for graph in models]
    assert sum(workloads[0]) == sum(workloads[1]) == pytest.approx(18.2e9, rel=0.01)
    assert len(set(workloads[0])) == 9
    for graph, parts in zip(models, workloads, strict=True):
        assert graph.root.attrs["workload"] == sum(parts)
        for subgraph in graph.on_device("DPU"):
            assert subgraph.workload == sum(op.attrs.get("workload", 0) for op in graph.ops_of(subgraph))


def test_both_take_one_image_and_give_three_float_maps(models: tuple[Graph, Graph]) -> None:
    for graph in models:
        assert graph.target == TARGET
        assert graph.fingerprint == 0x101000056010407
        assert [tensor.shape for tensor in graph.output_tensors(graph.on_device("USER")[0])] == [(1, 512, 512, 3)]
        read = {name for op in graph.ops for name in op.producers()}
        last = [op.tensor for op in graph.ops if op.name not in read]
        assert [tensor.shape for tensor in last] == [(1, 64, 64, 65), (1, 32, 32, 65), (1, 16, 16, 65)]
        assert {tensor.dtype for tensor in last} == {"float32"}


def test_the_weights_are_the_same_rows_split_or_not(models: tuple[Graph, Graph]) -> None:
    fragmented, consolidated = (_constants(graph) for graph in models)
    halves = [name for name in consolidated if "_cv1_0_" in name]
    assert len(halves) == 2 * 8
    for first in halves:
        whole = fragmented.pop(first.replace("_cv1_0_", "_cv1_"))
        second = consolidated.pop(first.replace("_cv1_0_", "_cv1_1_"))
        assert np.array_equal(whole, np.concatenate([consolidated.pop(first), second]))
    assert fragmented.keys() == consolidated.keys()
    assert all(np.array_equal(fragmented[name], consolidated[name]) for name in fragmented)


def _constants(graph: Graph) -> dict[str, np.ndarray]:
    """Constants by name; asserts that they fill REG_0 without a gap or an overlap."""
    constants = {}
    for subgraph in graph.on_device("DPU"):
        blob = np.frombuffer(subgraph.attrs["reg_id_to_parameter_value"]["REG_0"], np.int8)
        assert blob.size == subgraph.attrs["reg_id_to_size"]["REG_0"]
        end = 0
        for op in sorted(
            (op for op in graph.ops_of(subgraph) if op.type == "const-fix"), key=lambda op: op.tensor.attrs["ddr_addr"]
        ):
            assert op.tensor.attrs["reg_id"] == 0
            assert op.tensor.attrs["ddr_addr"] == end
            constants[op.name] = blob[end : end + op.tensor.element_count].reshape(op.tensor.shape)
            end += op.tensor.element_count
        assert end == blob.size
    return constants


def test_no_tensor_reaches_past_its_register(models: tuple[Graph, Graph]) -> None:
    for graph in models:
        for subgraph in graph.on_device("DPU"):
            sizes = subgraph.attrs["reg_id_to_size"]
            for op in graph.ops_of(subgraph):
                where = op.tensor.attrs
                if op.type in ("const-fix", "download") or where["location"] == 0:
                    continue
                steps = zip(op.tensor.shape, where["stride"], strict=True)
                last = sum((extent - 1) * stride for extent, stride in steps)
                assert where["ddr_addr"] + last < sizes[f"REG_{where['reg_id']}"], op.name


def test_a_split_at_run_time_costs_ddr_traffic_and_says_it_is_estimated(models: tuple[Graph, Graph]) -> None:
    traffic = [[static_traffic(graph, subgraph) for subgraph in graph.on_device("DPU")] for graph in models]
    assert all(part.estimated for parts in traffic for part in parts)
    assert sum(part.total_bytes for part in traffic[0]) > sum(part.total_bytes for part in traffic[1])


def test_both_compute_the_same_outputs_bit_for_bit() -> None:
    outputs = []
    for split_offline in (False, True):
        executor = open_executor(parse_xmodel(encode_xmodel(demo_graph(split_offline, size=64)), "demo"))
        (image,) = executor.inputs
        pixels = np.random.default_rng(5).integers(0, 64, image.shape).astype(np.int8)
        outputs.append(executor.run({image.name: pixels}))
    assert outputs[0].keys() == outputs[1].keys()
    for name, values in outputs[0].items():
        assert np.array_equal(values, outputs[1][name])
        assert values.std() > 0.1, "the activations died on their way"


def test_the_same_bytes_come_out_every_time() -> None:
    first = encode_xmodel(demo_graph(split_offline=False, size=64))
    assert encode_xmodel(demo_graph(split_offline=True, size=64)) != first
    assert encode_xmodel(demo_graph(split_offline=False, size=64)) == first
    assert parse_xmodel(first, "demo") == demo_graph(split_offline=False, size=64)


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(0, 6)), max_size=12))
def test_buffers_of_one_lifetime_never_overlap_in_the_workspace(buffers: list[tuple[int, int]]) -> None:
    workspace, placed = Workspace(), []
    for step, (size_bytes, lifetime) in enumerate(buffers):
        address = workspace.place(size_bytes, step, step + lifetime)
        for start, end, last_use in placed:
            assert last_use < step or address >= end or address + size_bytes <= start
        placed.append((address, address + size_bytes, step + lifetime))
        assert address % 16 == 0
        assert address + size_bytes <= workspace.size_bytes


@pytest.mark.shared
def test_every_attribute_is_of_the_kind_that_real_files_give_it(models: tuple[Graph, Graph], shared_dir: Path) -> None:
    real: dict[tuple[str, str], set[str]] = {}
    for path in real_files(shared_dir):
        graph = read_xmodel(path)
        if (graph.target or "").startswith("DPUCZDX8G"):
            for place, attrs in _places(graph):
                for key in attrs:
                    real.setdefault((place, key), set()).add(attrs.typed(key)[0])
    places = {place for place, _ in real}
    for graph in models:
        for place, attrs in _places(graph):
            for key in attrs:
                if place in places:
                    assert attrs.typed(key)[0] in real[place, key], (place, key)


def _places(graph: Graph) -> list[tuple[str, Attributes]]:
    places = [("graph", graph.attrs), ("root", graph.root.attrs)]
    places += [(f"operator {op.type}", op.attrs) for op in graph.ops]
    places += [(f"tensor of {op.type}", op.tensor.attrs) for op in graph.ops]
    for subgraph in graph.subgraphs:
        places.append((f"subgraph {subgraph.device}", subgraph.attrs))
        places += [(f"superlayer of {subgraph.device}", child.attrs) for child in subgraph.children]
    return places
