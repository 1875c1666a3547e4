"""The vendor's modules as code written against them meets them, traps included (board facts, 5)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from kv260_runtime.xmodel import Tensor, write_xmodel
from virtual_board import buffers, xir_api
from virtual_board.models import demo_graph
from virtual_board.results import Results

VENDOR = os.pathsep.join(filter(None, (str(Path(xir_api.__file__).parent / "vendor"), os.environ.get("PYTHONPATH"))))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "demo.xmodel"
    write_xmodel(demo_graph(split_offline=True, size=64), path)
    return path


@pytest.fixture(scope="module")
def graph(model: Path) -> xir_api.Graph:
    return xir_api.Graph.deserialize(str(model))


def aborted(code: str, *arguments: str) -> str:
    """What a process prints on standard error that code makes abort."""
    environment = {**os.environ, "PYTHONPATH": VENDOR}
    words = [sys.executable, "-c", code, *arguments]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=30)
    assert ended.returncode == -6
    return ended.stderr


def test_children_come_in_order_and_name_their_devices(graph: xir_api.Graph) -> None:
    root = graph.get_root_subgraph()
    children = root.toposort_child_subgraph()
    assert [child.get_attr("device") for child in children] == ["USER", "DPU", "CPU", "CPU", "CPU"]
    assert root.is_root and not children[1].is_root
    assert root.get_children_num() == 5
    assert not hasattr(root, "children_topological_sort")


def test_tensors_of_a_subgraph_come_as_a_set_and_know_shape_type_and_fix_point(graph: xir_api.Graph) -> None:
    dpu = graph.get_root_subgraph().toposort_child_subgraph()[1]
    inputs = dpu.get_input_tensors()
    assert isinstance(inputs, set)
    [tensor] = inputs
    assert (tensor.dims, tensor.ndim, tensor.dtype) == ([1, 64, 64, 3], 4, "xint8")
    assert isinstance(tensor.get_attr("fix_point"), int)
    assert tensor.get_element_num() == tensor.get_data_size() == 64 * 64 * 3


def test_maps_that_the_binding_cannot_convert_read_as_none(graph: xir_api.Graph) -> None:
    dpu = graph.get_root_subgraph().toposort_child_subgraph()[1]
    assert dpu.has_attr("reg_id_to_parameter_value")
    assert dpu.get_attr("reg_id_to_parameter_value") is None
    assert dpu.get_attr("reg_id_to_context_type_v2")["REG_0"] == "CONST"


def test_operators_lead_to_their_producers(graph: xir_api.Graph) -> None:
    [op, *_] = [op for op in graph.toposort() if op.get_type() == "conv2d-fix"]
    producers = op.get_input_ops()
    assert {"input", "weights"} <= set(producers)
    assert op.get_output_tensor().name
    assert graph.get_op_num() == len(graph.get_ops())


def test_a_graph_is_walked_by_tensors_consumers_and_leaves(graph: xir_api.Graph) -> None:
    root = graph.get_root_subgraph()
    dpu = root.toposort_child_subgraph()[1]
    op = next(op for op in graph.toposort() if op.get_type() == "conv2d-fix")
    tensor = op.get_output_tensor()
    assert graph.get_tensor(tensor.name) == tensor and tensor.producer == op == dpu.get_tensor_producer(tensor)
    assert tensor in graph.get_tensors()
    assert op.get_input_num("input") == 1 and op.get_input_tensor("input") in op.get_input_tensors()
    assert all(op in reader.get_input_ops()["input"] for reader in op.get_fanout_ops())
    assert op.get_fanout_num() > 0 and op not in graph.get_head_ops() and op not in graph.get_tail_ops()
    assert dpu.has_op(op) and root.find_child_subgraph_by_op(op) == dpu and root.is_child(dpu)
    assert graph.get_leaf_subgraph(op).has_op(op)
    assert (root.depth, dpu.depth) == (0, 1) and dpu.get_root == root


def test_a_tensor_that_is_not_there_aborts_the_process(model: Path) -> None:
    code = "import sys, xir\nxir.Graph.deserialize(sys.argv[1]).get_tensor('nix')"
    assert "Undefined tensor!] nix" in aborted(code, str(model))


def test_a_missing_attribute_aborts_the_process(model: Path) -> None:
    code = "import sys, xir\nxir.Graph.deserialize(sys.argv[1]).get_root_subgraph().get_attr('nix')"
    assert "Undefined attribute!] nix" in aborted(code, str(model))


def test_a_bad_file_aborts_the_process(tmp_path: Path) -> None:
    bad = tmp_path / "bad.xmodel"
    bad.write_bytes(b"no model")
    assert "bad.xmodel" in aborted("import sys, xir\nxir.Graph.deserialize(sys.argv[1])", str(bad))


def test_each_module_announces_the_emulation_once_a_process() -> None:
    environment = {**os.environ, "PYTHONPATH": VENDOR}
    code = "import vart, xir, vitis_ai_library"
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ended.stderr == "virtual_board: emulated KV260, no hardware behind these figures\n"


def test_without_a_board_a_runner_says_which_variable_is_missing(model: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "KVBENCH_BOARD_SOCKET"}
    code = (
        "import sys, xir, vitis_ai_library as v\nv.GraphRunner.create_graph_runner(xir.Graph.deserialize(sys.argv[1]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(model)],
        env={**environment, "PYTHONPATH": VENDOR},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "KVBENCH_BOARD_SOCKET is not set" in ended.stderr


def test_a_buffer_is_a_view_that_converts_when_asked(graph: xir_api.Graph) -> None:
    dpu = graph.get_root_subgraph().toposort_child_subgraph()[1]
    [tensor] = dpu.get_input_tensors()
    buffer = buffers.TensorBuffer(tensor)
    np.asarray(buffer)[0, 0, 0, 0] = 5
    assert np.asarray(buffer)[0, 0, 0, 0] == 5
    assert np.array(buffer, dtype=np.float32)[0, 0, 0, 0] == 5.0
    assert buffer.get_tensor() is tensor


def test_an_output_is_computed_when_read_and_once_read_by_every_execution(graph: xir_api.Graph) -> None:
    dpu = graph.get_root_subgraph().toposort_child_subgraph()[1]
    [tensor] = dpu.get_input_tensors()
    computed: list[int] = []

    def execution(value: int) -> Callable[[], npt.NDArray[np.int8]]:
        def values() -> npt.NDArray[np.int8]:
            computed.append(value)
            return np.full(tensor.dims, value, np.int8)

        return values

    buffer = buffers.TensorBuffer(tensor)
    buffer.put(execution(1))
    buffer.put(execution(2))
    assert computed == []
    view = np.asarray(buffer)
    assert computed == [2] and view.min() == view.max() == 2
    buffer.put(execution(3))
    assert computed == [2, 3] and view.min() == 3


@pytest.mark.parametrize("dtype", ["uint8", "float64", "int32"])
def test_an_array_of_a_format_the_binding_lacks_aborts_the_process(dtype: str) -> None:
    code = f"import numpy as np\nfrom virtual_board.buffers import check_array\ncheck_array(np.zeros(3, np.{dtype}))"
    assert "unknown format" in aborted(code)


def test_a_read_only_array_is_refused_and_the_other_formats_pass() -> None:
    for dtype in (np.int8, np.float32, np.int16):
        buffers.check_array(np.zeros((2, 3), dtype))
    frozen = np.zeros(3, np.int8)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        buffers.check_array(frozen)


def fixed(shape: list[int], fix_point: int) -> xir_api.Tensor:
    tensor = xir_api.Tensor(xir_api.Graph(demo_graph(split_offline=True, size=64)), Tensor("t", tuple(shape), "xint8"))
    tensor._attributes.set("fix_point", fix_point, "int32")
    return tensor


def test_float_inputs_are_truncated_toward_zero_and_wrap() -> None:
    """The vendor converts by a C++ cast; floor(x + 1/2) with saturation is what it does not do."""
    values = np.array([0.99, -0.99, 1.74, -1.74, 32.0, -32.25, 100.0, np.nan, 1e30], np.float32)
    stored = np.frombuffer(buffers.taken(values, fixed([9], 2)), np.int8)
    assert stored.tolist() == [3, -3, 6, -6, -128, 127, -112, 0, -1]


def test_outputs_are_given_as_stored_or_as_reals() -> None:
    stored, tensor = np.array([[-128, 3]], np.int8), fixed([1, 2], 3)
    whole, real = np.zeros((1, 2), np.int8), np.zeros((1, 2), np.float32)
    buffers.give(stored, whole, tensor)
    buffers.give(stored, real, tensor)
    assert whole.tolist() == [[-128, 3]]
    assert real.tolist() == [[-16.0, 0.375]]


@pytest.mark.parametrize(
    ("array", "words"),
    [
        ("np.zeros((2, 4), np.int8)[:, ::2]", "not C-contiguous"),
        ("np.zeros(3, np.int8)", "fewer than 4 elements"),
        ("np.zeros(4, np.int16)", "the array holds int16, the tensor xint8"),
    ],
)
def test_what_would_be_undefined_on_the_board_aborts_the_process(array: str, words: str) -> None:
    code = (
        "import numpy as np\nfrom kv260_runtime.xmodel import Tensor\nfrom virtual_board import buffers, xir_api\n"
        f"buffers.taken({array}, xir_api.Tensor(None, Tensor('t', (4,), 'xint8')))"
    )
    assert words in aborted(code)


def test_remembered_results_are_bounded_and_the_least_used_go_first() -> None:
    results = Results(most_entries=2)
    for number in range(3):
        results.keep((bytes([number]),), {"y": np.array([number])})
        results.find((b"\0",))
    assert results.find((b"\1",)) is None
    found = results.find((b"\0",))
    assert found is not None and found["y"].tolist() == [0] and not found["y"].flags.writeable
    heavy = Results(most_bytes=100)
    for number in range(3):
        heavy.keep((bytes([number]),), {"y": np.zeros(80, np.int8)})
    assert [heavy.find((bytes([number]),)) is None for number in range(3)] == [True, True, False]
