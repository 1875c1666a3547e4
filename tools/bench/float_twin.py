"""The yardstick of execute_speed: a compiled model's layers in bare float32, as ONNX Runtime would run them anyway."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kv260_runtime.execute.constants import Constants
from kv260_runtime.execute.onnx_graph import OnnxGraph
from kv260_runtime.execute.specs import Array
from kv260_runtime.xmodel import Graph, Op, Subgraph


class FloatTwin:
    """Conv, LeakyRelu or Relu, Add, Concat, MaxPool and Resize of one DPU subgraph; NCHW, nothing rounded."""

    def __init__(self, graph: Graph, subgraph: Subgraph) -> None:
        """Translate every operator; KeyError for one that YOLO networks do not use."""
        self._onnx = OnnxGraph()
        self._graph = graph
        self._constants = Constants(graph)
        self._values: dict[str, str] = {}
        self.input_shape: tuple[int, ...] = ()
        for op in graph.ops_of(subgraph):
            if op.type != "const-fix":
                self._values[op.name] = self._TRANSLATIONS[op.type](self, op)

    def serialize(self) -> bytes:
        """The ONNX model, with one input called `image`."""
        return self._onnx.serialize()

    def _inputs(self, op: Op) -> list[str]:
        return [self._values[name] for name in op.args["input"]]

    def _real(self, op: Op, argument: str) -> Array:
        constant = self._graph.op(op.args[argument][0])
        scale = 2.0 ** -(constant.tensor.fix_point or 0)
        return (self._constants.load(constant) * scale).astype(np.float32)

    def _upload(self, op: Op) -> str:
        batch, height, width, channels = op.tensor.shape
        self.input_shape = (batch, channels, height, width)
        return self._onnx.float_input("image", self.input_shape)

    def _download(self, op: Op) -> str:
        batch, height, width, channels = op.tensor.shape
        (name,) = self._inputs(op)
        self._onnx.float_output(name, (batch, channels, height, width))
        return name

    def _conv(self, op: Op) -> str:
        weights = self._onnx.constant(self._real(op, "weights").transpose(0, 3, 1, 2))
        bias = self._onnx.constant(self._real(op, "bias"))
        name = self._window("Conv", [*self._inputs(op), weights, bias], op)
        activation = op.attrs["nonlinear"]
        if activation == "LEAKYRELU":
            return self._onnx.node("LeakyRelu", [name], alpha=float(op.attrs["LEAKYRELU_alpha"]))
        return self._onnx.node("Relu", [name]) if activation == "RELU" else name

    def _window(self, op_type: str, inputs: list[str], op: Op) -> str:
        left, right, top, bottom = op.attrs["pad"]
        kernel, stride = op.attrs["kernel"][::-1], op.attrs["stride"][::-1]
        return self._onnx.node(op_type, inputs, kernel_shape=kernel, strides=stride, pads=(top, left, bottom, right))

    def _pool(self, op: Op) -> str:
        return self._window("MaxPool", self._inputs(op), op)

    def _add(self, op: Op) -> str:
        return self._onnx.node("Add", self._inputs(op))

    def _concat(self, op: Op) -> str:
        return self._onnx.node("Concat", self._inputs(op), axis=1)

    def _upsample(self, op: Op) -> str:
        scales = self._onnx.constant(np.array([1, 1, 2, 2], np.float32))
        return self._onnx.node(
            "Resize",
            [*self._inputs(op), "", scales],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )

    _TRANSLATIONS: dict[str, Callable[[FloatTwin, Op], str]] = {  # noqa: RUF012 - a table, never written to
        "upload": _upload,
        "download": _download,
        "conv2d-fix": _conv,
        "pool-fix": _pool,
        "eltwise-fix": _add,
        "concat-fix": _concat,
        "upsample-fix": _upsample,
    }
