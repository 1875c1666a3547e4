"""Executes XModels off the board, bit for bit as the DPU would (docs/execution.md)."""

from kv260_runtime.accelerators.tensors import quantise
from kv260_runtime.execute.executor import Executor, InputError, open_executor
from kv260_runtime.execute.fixed import dequantise
from kv260_runtime.execute.operators import register_operator
from kv260_runtime.execute.plan import computed_tensors
from kv260_runtime.execute.specs import TensorSpec

__all__ = [
    "Executor",
    "InputError",
    "TensorSpec",
    "computed_tensors",
    "dequantise",
    "open_executor",
    "quantise",
    "register_operator",
]
