"""The hand-written ONNX, read back by the package of that name."""

from __future__ import annotations

import numpy as np
import pytest

from kv260_runtime.execute import onnx_wire
from kv260_runtime.execute.fixed import Rounding, Slope
from kv260_runtime.execute.onnx_graph import OnnxGraph
from kv260_runtime.execute.specs import TensorSpec

onnx = pytest.importorskip("onnx", reason="the onnx package is not installed")


def small_model() -> bytes:
    """One node of each attribute kind."""
    graph = OnnxGraph()
    value = graph.input("image", TensorSpec("x", (1, 4, 5, 3), "int8", 2))
    pooled = graph.node("MaxPool", [value.name], kernel_shape=(2, 2), strides=(1, 1), pads=(0, 1, 1, 0))
    rounded = graph.rounded(graph.scale(pooled, 0.25), Rounding(2, slope=Slope(13, 7)))
    scales = graph.constant(np.array([1, 1, 2, 2], np.float32))
    mode = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    resized = graph.node("Resize", [rounded, "", scales], **mode)
    graph.output(type(value)(resized, (1, 8, 10, 3), channels_first=True))
    return graph.serialize()


def test_the_model_passes_the_checker() -> None:
    model = onnx.load_model_from_string(small_model())
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node][:3] == ["Transpose", "Cast", "MaxPool"]
    assert model.opset_import[0].version == onnx_wire.OPSET


def test_tensors_keep_their_values() -> None:
    for values in (np.array([[1.5, -2]], np.float32), np.array(3, np.float32), np.array([-1, 2**40], np.int64)):
        tensor = onnx.TensorProto.FromString(onnx_wire.tensor("t", values))
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), values)


def test_attributes_keep_their_kinds() -> None:
    given = {"a": -3, "b": 0.5, "c": "text", "d": (1, -2)}
    node = onnx.NodeProto.FromString(onnx_wire.node("Op", ["x", ""], "y", given))
    found = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    assert found == {"a": -3, "b": 0.5, "c": b"text", "d": [1, -2]}
    assert list(node.input) == ["x", ""]


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**63 - 1, -1])
def test_varints_are_those_of_protobuf(value: int) -> None:
    encoded = b"\x18" + onnx_wire.varint(value)  # field 3, as in AttributeProto.i
    assert onnx.AttributeProto.FromString(encoded).i == value
