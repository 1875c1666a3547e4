"""Execution of real files against an instruction-level simulator of the DPU and the vendor's GraphRunner.

`reference/NAME.KIND.npz` holds inputs and outputs: `dpu_subgraph.sgI` int8, `whole_graph` and `quantized` float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute import open_executor, register_operator
from kv260_runtime.execute.operators import custom
from kv260_runtime.xmodel import Graph, Op, Subgraph, read_xmodel
from tests.unit.execute.running import HAS_ONNXRUNTIME

Array = npt.NDArray[Any]

pytestmark = pytest.mark.shared

SHARED = Path(__file__).resolve().parents[3] / "shared"
REFERENCES = sorted(path.name for path in SHARED.glob("xmodels/reference/*.npz"))
BACKEND = "onnxruntime" if HAS_ONNXRUNTIME else "numpy"
QUICK = ("cifar10", "cnn28", "effnetv2", "lenet", "mnist", "mobilenetv2", "tf2", "trafficsign")
"""Networks that int64 arithmetic computes within a second."""

SOFTMAX_TOLERANCE = 1e-6


@pytest.fixture
def xmodels(shared_dir: Path) -> Path:
    return shared_dir / "xmodels"


def load(xmodels: Path, reference: str) -> tuple[Graph, Subgraph | None, dict[str, Array], dict[str, Array]]:
    """Graph, subgraph, inputs and outputs of a reference file."""
    stem, kind, *rest = reference.split(".")
    graph = read_xmodel(xmodels / f"{stem}.xmodel")
    subgraph = graph.subgraphs[int(rest[0].removeprefix("sg"))] if kind == "dpu_subgraph" else None
    with np.load(xmodels / "reference" / reference) as archive:
        arrays = {name: archive[name] for name in archive.files}
    inputs = {name.removeprefix("in."): values for name, values in arrays.items() if name.startswith("in.")}
    outputs = {name.removeprefix("out."): values for name, values in arrays.items() if name.startswith("out.")}
    return graph, subgraph, inputs, outputs


def behind_softmax(graph: Graph) -> set[str]:
    """Names of tensors that a softmax makes, directly or through a flatten."""
    made: set[str] = set()
    for op in graph.ops:
        if op.type == "softmax" or made.intersection(op.producers()):
            made.add(op.name)
    return {graph.op(name).tensor.name for name in made}


def check(results: Mapping[str, Array], expected: Mapping[str, Array], loose: set[str]) -> None:
    assert set(results) == set(expected)
    for name, values in expected.items():
        assert results[name].dtype == values.dtype
        assert results[name].shape == values.shape
        if name in loose:
            assert np.abs(results[name].astype(np.float64) - values).max() <= SOFTMAX_TOLERANCE
        else:
            assert int((results[name] != values).sum()) == 0, name


def test_there_are_references() -> None:
    if not SHARED.is_dir():
        pytest.skip("../shared is absent: the real files this test reads are not here")
    assert len(REFERENCES) == 31


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_reference_is_met_without_a_difference(xmodels: Path, reference: str) -> None:
    graph, subgraph, inputs, expected = load(xmodels, reference)
    executor = open_executor(graph, subgraph, BACKEND, threads=2)
    check(executor.run(inputs), expected, behind_softmax(graph))


@pytest.mark.parametrize("reference", [name for name in REFERENCES if name.startswith(QUICK)])
def test_int64_arithmetic_meets_the_references_too(xmodels: Path, reference: str) -> None:
    graph, subgraph, inputs, expected = load(xmodels, reference)
    check(open_executor(graph, subgraph, "integer").run(inputs), expected, behind_softmax(graph))


@pytest.mark.parametrize("backend", ["numpy", BACKEND])
def test_specs_carry_the_fix_points_of_the_reference(xmodels: Path, backend: str) -> None:
    reference = "effnetv2_block_relu_b2304.dpu_subgraph.sg1.npz"
    graph, subgraph, _, _ = load(xmodels, reference)
    executor = open_executor(graph, subgraph, backend)
    with np.load(xmodels / "reference" / reference) as archive:
        for spec in [*executor.inputs, *executor.outputs]:
            assert spec.fix_point == int(archive[f"fp.{spec.name}"])


def conv(graph: Graph, index: int) -> Op:
    return [op for op in graph.ops if op.type == "conv2d-fix"][index]


def mutate_weight(graph: Graph) -> None:
    """One byte of the last layer's weights, inside the parameter block."""
    child = graph.on_device("DPU")[0]
    weights = graph.op(conv(graph, -1).args["weights"][0]).tensor
    block = bytearray(child.attrs["reg_id_to_parameter_value"]["REG_0"])
    block[weights.attrs["ddr_addr"] + 64] ^= 0x40
    child.attrs["reg_id_to_parameter_value"] = {"REG_0": bytes(block)}


def shift_bias(graph: Graph) -> None:
    tensor = graph.op(conv(graph, -1).args["bias"][0]).tensor
    tensor.attrs["fix_point"] = tensor.attrs["fix_point"] - 1


def move_pad(graph: Graph) -> None:
    """The same size, one pixel further."""
    left, right, top, bottom = conv(graph, 0).attrs["pad"]
    assert left != right
    conv(graph, 0).attrs["pad"] = [right, left, top, bottom]


def move_fix_point(graph: Graph) -> None:
    tensor = conv(graph, 1).tensor
    tensor.attrs["fix_point"] = tensor.attrs["fix_point"] + 1


def unleak(graph: Graph) -> None:
    conv(graph, 0).attrs["nonlinear"] = "NONE"


@pytest.mark.parametrize("backend", ["integer", BACKEND])
@pytest.mark.parametrize("mutate", [mutate_weight, shift_bias, move_pad, move_fix_point, unleak])
def test_a_small_change_of_the_file_is_noticed(xmodels: Path, mutate: Callable[[Graph], None], backend: str) -> None:
    graph, subgraph, inputs, expected = load(xmodels, "cnn28_b4096.dpu_subgraph.sg1.npz")
    check(open_executor(graph, subgraph, backend).run(inputs), expected, set())
    mutate(graph)
    with pytest.raises(AssertionError):
        check(open_executor(graph, subgraph, backend).run(inputs), expected, set())


@pytest.mark.parametrize(
    ("quantised", "compiled"),
    [("trafficsign_cnn_quantized", "trafficsign_cnn_isa0"), ("cnn28_quantized", "cnn28_b4096")],
)
def test_a_compiled_file_computes_what_its_quantised_twin_computes(
    xmodels: Path, quantised: str, compiled: str
) -> None:
    """The first pair is for the older instruction set, for which there is no simulator."""
    twins = [open_executor(read_xmodel(xmodels / f"{name}.xmodel")) for name in (quantised, compiled)]
    real, fixed = (twin.inputs[0] for twin in twins)
    assert fixed.fix_point is not None
    random = np.random.default_rng(0)
    for spread in (4, 30, 200):
        image = np.clip(random.normal(0, spread, fixed.shape), -128, 127).astype(np.int8)
        (first,) = twins[0].run({real.name: image.astype(np.float32) * np.float32(2.0**-fixed.fix_point)}).values()
        (second,) = twins[1].run({fixed.name: image}).values()
        np.testing.assert_array_equal(first, second)


@pytest.fixture
def leaky_layer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The custom operator of Vitis AI's TensorFlow example, a PReLU."""
    monkeypatch.setattr(custom, "_FUNCTIONS", {})
    register_operator("Mylayer", lambda arrays, *_: np.where(arrays[0] < 0, arrays[0] * arrays[1], arrays[0]))
    yield


@pytest.mark.usefixtures("leaky_layer")
def test_a_graph_with_a_custom_operator_is_the_chain_of_its_subgraphs(xmodels: Path) -> None:
    graph = read_xmodel(xmodels / "tf2_custom_op_vai25_b4096.xmodel")
    random = np.random.default_rng(1)
    values = {"quant_input_1": np.clip(random.normal(0, 2, (1, 28, 28, 1)), -128, 127).astype(np.int8)}
    whole = open_executor(graph).run(values)
    for subgraph in graph.subgraphs:
        if subgraph.device != "USER":
            values.update(open_executor(graph, subgraph).run(_needed(graph, subgraph, values)))
    for name, result in whole.items():
        assert np.ptp(result) > 0
        np.testing.assert_array_equal(result, values[name])


def _needed(graph: Graph, subgraph: Subgraph, values: Mapping[str, Array]) -> dict[str, Array]:
    return {tensor.name: values[tensor.name] for tensor in graph.input_tensors(subgraph)}


def test_without_the_function_the_custom_operator_is_refused_by_name(xmodels: Path) -> None:
    with pytest.raises(ModelRejected, match=r"'PPScatterV2' \(1\)"):
        open_executor(read_xmodel(xmodels / "pointpillars_custom_op_b4096.xmodel"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cnn28_u50_unsupported_target", "compiled for 'DPUCAHX8H_ISA2'"),
        ("cnn28_vck190_unsupported_target", "compiled for 'DPUCVDX8G_ISA3_C32B6'"),
        ("retinaface_aie2_unsupported_target", "compiled for 'AMD_AIE2_Nx4_Overlay'"),
        ("gru_rnn_overlay", "another overlay"),
    ],
)
def test_other_targets_are_refused_in_one_line(xmodels: Path, name: str, message: str) -> None:
    with pytest.raises(ModelRejected, match=message) as refusal:
        open_executor(read_xmodel(xmodels / f"{name}.xmodel"))
    assert "\n" not in str(refusal.value)
