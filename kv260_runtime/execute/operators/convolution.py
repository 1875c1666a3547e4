"""Convolutions of the DPU: dense, depthwise and transposed, with bias, activation and one rounding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kv260_runtime.execute.fixed import Rounding
from kv260_runtime.execute.geometry import Window, check_size, image_shape, slide, spread
from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.onnx_graph import OnnxGraph, Value
from kv260_runtime.execute.operators.nonlinear import rounding_of
from kv260_runtime.execute.specs import Array

LARGEST_INPUT = 128
"""Magnitude of an int8."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Weights and bias as integers of one unit: 2 ** -rounding.shift of the output's last bit."""

    weights: Array
    """int8, in the order of the file: [oc, kh, kw, ic], or [1, kh, kw, c] depthwise."""
    gain: int
    """Every product counts this often: 2 where the bias has half a unit, else 1."""
    bias: Array
    """int64 [oc]."""
    rounding: Rounding
    accumulator: type[np.generic]

    @classmethod
    def of(cls, node: Node) -> Parameters:
        """y = r(nl((sum x*w + b * 2^sb) / 2^(fi+fw-fo))), sb = max(fi+fw-fb, -1): xmodel_execution.md, Executing."""
        spec, weights = node.constant("weights")
        sum_bits = node.fix_point(node.input()) + node.fix_point(spec)
        if weights.ndim != 4:
            raise node.rejected(f"weights have {weights.ndim} dimensions, 4 expected")
        bias, bias_shift = np.zeros(1, np.int64), 0
        if node.has("bias"):
            bias_spec, values = node.constant("bias")
            bias, bias_shift = values.astype(np.int64), max(sum_bits - node.fix_point(bias_spec), -1)
        if bias_shift > 32:
            raise node.rejected(f"fix points ask for a bias shifted by {bias_shift} bits")
        half = 1 if bias_shift < 0 else 0
        rounding = rounding_of(node, sum_bits + half)
        return cls(weights, 1 << half, bias << (bias_shift + half), rounding, node.accumulator)

    def check(self, node: Node, channels: int, depth: int) -> None:
        """Refuse weights or a bias that do not fit `channels` outputs and an input `depth` channels deep."""
        if self.weights.shape[3] != depth:
            raise node.rejected(f"weights are {self.weights.shape[3]} channels deep, the input has {depth}")
        if self.bias.shape not in ((1,), (channels,)):
            raise node.rejected(f"the bias has the shape {list(self.bias.shape)}, {channels} channels expected")

    @cached_property
    def widened(self) -> Array:
        """The weights as the type that sums are kept in, made at the first run in numpy."""
        return self.weights.astype(self.accumulator) * self.gain

    def finish(self, total: Array) -> Array:
        """Add the bias and round."""
        return self.rounding.apply(total.astype(np.int64) + self.bias)

    def bound(self, axes: tuple[int, ...]) -> int:
        """Magnitude that no partial sum exceeds, whatever the int8 input; `axes` of the weights are summed over."""
        sums = np.abs(self.weights.astype(np.int64)).sum(axes) * (LARGEST_INPUT * self.gain)
        return int((sums + np.abs(self.bias)).max())

    def real_weights(self) -> Array:
        """Weights in units of the output's last bit; exact in float32, only the exponent changes."""
        return (self.weights * (self.gain * 2.0**-self.rounding.shift)).astype(np.float32)

    def real_bias(self, channels: int) -> Array:
        """The bias in the same unit, with the 1/2 of the rounding unless a slope comes between."""
        half = 0.0 if self.rounding.slope else 0.5
        return (np.broadcast_to(self.bias, (channels,)) * 2.0**-self.rounding.shift + half).astype(np.float32)


def _attributes(window: Window) -> dict[str, tuple[int, ...]]:
    return {
        "kernel_shape": window.kernel,
        "strides": window.stride,
        "dilations": window.dilation,
        "pads": window.pad,
    }


@dataclass(frozen=True, eq=False)
class _Convolving:
    window: Window
    parameters: Parameters
    shape: tuple[int, ...]
    """Of the output."""

    def _emit(self, onnx: OnnxGraph, op_type: str, image: Value, weights: Array, groups: int) -> Value:
        parameters, channels = self.parameters, self.shape[3]
        names = [
            onnx.channels_first(image).name,
            onnx.constant(weights),
            onnx.constant(parameters.real_bias(channels)),
        ]
        total = onnx.node(op_type, names, group=groups, **_attributes(self.window))
        rounded = onnx.rounded(total, parameters.rounding, half_added=parameters.rounding.slope is None)
        return Value(rounded, self.shape, channels_first=True)


@dataclass(frozen=True, eq=False)
class Convolution(_Convolving):
    """conv2d-fix."""

    def run(self, image: Array) -> Array:
        """Sum over taps and input channels."""
        return slide(image, self.window, self.parameters.widened, lambda x, w: x @ w.T, self.parameters.finish)

    def is_exact(self) -> bool:
        """Judged from the weights: the largest sum of magnitudes over all output channels."""
        return self.parameters.rounding.is_exact(self.parameters.bound((1, 2, 3)))

    def emit(self, onnx: OnnxGraph, image: Value) -> Value:
        """Conv, activation, Floor."""
        return self._emit(onnx, "Conv", image, self.parameters.real_weights().transpose(0, 3, 1, 2), 1)


@dataclass(frozen=True, eq=False)
class DepthwiseConvolution(_Convolving):
    """depthwise-conv2d-fix: every channel by itself."""

    def run(self, image: Array) -> Array:
        """Sum over taps."""
        return slide(image, self.window, self.parameters.widened, lambda x, w: x * w[0], self.parameters.finish)

    def is_exact(self) -> bool:
        """Judged from the weights of each channel."""
        return self.parameters.rounding.is_exact(self.parameters.bound((0, 1, 2)))

    def emit(self, onnx: OnnxGraph, image: Value) -> Value:
        """Conv with one group a channel, activation, Floor."""
        return self._emit(onnx, "Conv", image, self.parameters.real_weights().transpose(3, 0, 1, 2), self.shape[3])


@dataclass(frozen=True, eq=False)
class TransposedConvolution(_Convolving):
    """transposed-conv2d-fix."""

    def run(self, image: Array) -> Array:
        """Spread every pixel through the flipped kernel."""
        return self.parameters.finish(spread(image, self.window, self.parameters.widened))

    def is_exact(self) -> bool:
        """Judged from all weights of an output channel, though not all taps meet in one pixel."""
        return self.parameters.rounding.is_exact(self.parameters.bound((1, 2, 3)))

    def emit(self, onnx: OnnxGraph, image: Value) -> Value:
        """ConvTranspose, which does not flip, activation, Floor."""
        flipped = self.parameters.real_weights()[:, ::-1, ::-1]
        return self._emit(onnx, "ConvTranspose", image, flipped.transpose(3, 0, 1, 2), 1)


def conv2d_fix(node: Node) -> Kernel:
    """Plan conv2d-fix."""
    window, parameters, image = Window.of(node), Parameters.of(node), image_shape(node)
    _check_kernel(node, window, parameters)
    channels = parameters.weights.shape[0]
    parameters.check(node, channels, image[3])
    check_size(node, window.output_size(image[1], image[2]), channels)
    return Convolution(window, parameters, node.output.shape)


def depthwise_conv2d_fix(node: Node) -> Kernel:
    """Plan depthwise-conv2d-fix."""
    window, parameters, image = Window.of(node), Parameters.of(node), image_shape(node)
    _check_kernel(node, window, parameters)
    if parameters.weights.shape[0] != 1:
        raise node.rejected(f"a channel multiplier of {parameters.weights.shape[0]} is not supported")
    parameters.check(node, image[3], image[3])
    check_size(node, window.output_size(image[1], image[2]), image[3])
    return DepthwiseConvolution(window, parameters, node.output.shape)


def transposed_conv2d_fix(node: Node) -> Kernel:
    """Plan transposed-conv2d-fix."""
    window, parameters, image = Window.of(node), Parameters.of(node), image_shape(node)
    _check_kernel(node, window, parameters)
    channels = parameters.weights.shape[0]
    parameters.check(node, channels, image[3])
    check_size(node, window.transposed_size(image[1], image[2]), channels)
    return TransposedConvolution(window, parameters, node.output.shape)


def _check_kernel(node: Node, window: Window, parameters: Parameters) -> None:
    if parameters.weights.shape[1:3] != window.kernel:
        found = "x".join(str(size) for size in parameters.weights.shape[1:3])
        raise node.rejected(f"kernel is {window.kernel[0]}x{window.kernel[1]}, its weights are {found}")
