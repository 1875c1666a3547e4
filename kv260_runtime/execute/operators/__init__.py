"""The operators that can be executed: one row a type, naming the function that plans it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.operators.custom import register_operator, registered

_FAMILY = "kv260_runtime.execute.operators"

OPERATORS = {
    "conv2d-fix": f"{_FAMILY}.convolution:conv2d_fix",
    "depthwise-conv2d-fix": f"{_FAMILY}.convolution:depthwise_conv2d_fix",
    "transposed-conv2d-fix": f"{_FAMILY}.convolution:transposed_conv2d_fix",
    "pool-fix": f"{_FAMILY}.pooling:pool_fix",
    "eltwise-fix": f"{_FAMILY}.elementwise:eltwise_fix",
    "depthwise-fix": f"{_FAMILY}.elementwise:depthwise_fix",
    "hard-sigmoid-fix": f"{_FAMILY}.elementwise:hard_sigmoid_fix",
    "upload": f"{_FAMILY}.movement:copy",
    "download": f"{_FAMILY}.movement:copy",
    "identity": f"{_FAMILY}.movement:copy",
    "reshape-fix": f"{_FAMILY}.movement:reshape",
    "reshape": f"{_FAMILY}.movement:reshape",
    "flatten": f"{_FAMILY}.movement:reshape",
    "squeeze": f"{_FAMILY}.movement:reshape",
    "concat-fix": f"{_FAMILY}.movement:concat_fix",
    "concat": f"{_FAMILY}.movement:concat",
    "stack": f"{_FAMILY}.movement:stack",
    "transpose": f"{_FAMILY}.movement:transpose",
    "strided_slice": f"{_FAMILY}.movement:strided_slice",
    "strided_slice-fix": f"{_FAMILY}.movement:strided_slice",
    "upsample-fix": f"{_FAMILY}.movement:upsample_fix",
    "fix2float": f"{_FAMILY}.quantization:fix2float",
    "float2fix": f"{_FAMILY}.quantization:float2fix",
    "fix": f"{_FAMILY}.quantization:fix",
    "softmax": f"{_FAMILY}.floating:softmax",
    "relu": f"{_FAMILY}.floating:relu",
    "relu6": f"{_FAMILY}.floating:relu6",
    "leaky-relu": f"{_FAMILY}.floating:leaky_relu",
    "sigmoid": f"{_FAMILY}.floating:sigmoid",
    "tanh": f"{_FAMILY}.floating:tanh",
    "exp": f"{_FAMILY}.floating:exponential",
    "hard-sigmoid": f"{_FAMILY}.floating:hard_sigmoid",
    "hard-swish": f"{_FAMILY}.floating:hard_swish",
    "add": f"{_FAMILY}.floating:add",
    "sub": f"{_FAMILY}.floating:subtract",
    "mul": f"{_FAMILY}.floating:multiply",
    "div": f"{_FAMILY}.floating:divide",
    "min": f"{_FAMILY}.floating:minimum",
    "max": f"{_FAMILY}.floating:maximum",
    "matmul": f"{_FAMILY}.floating:matmul",
    "conv2d": f"{_FAMILY}.floating:conv2d",
    "depthwise-conv2d": f"{_FAMILY}.floating:depthwise_conv2d",
    "maxpool2d": f"{_FAMILY}.floating:maxpool2d",
    "avgpool2d": f"{_FAMILY}.floating:avgpool2d",
    "priorbox": f"{_FAMILY}.priorbox:priorbox",
}
"""Operator type to `module:function`; the function takes a Node and returns a Kernel, or raises ModelRejected."""

Planner = Callable[[Node], Kernel]

__all__ = ["OPERATORS", "Planner", "is_known", "planner_of", "register_operator", "registered"]


def is_known(op_type: str) -> bool:
    """Whether operators of a type can be planned, by the table or by registration."""
    return op_type in OPERATORS or registered(op_type) is not None


def planner_of(op_type: str) -> Planner:
    """The planning function of a type in the table."""
    module, _, name = OPERATORS[op_type].partition(":")
    planner: Planner = getattr(import_module(module), name)
    return planner
