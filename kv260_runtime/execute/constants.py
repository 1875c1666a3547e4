"""Values of `const` and `const-fix` operators: in the operator itself, or in a DPU subgraph's parameter block."""

from __future__ import annotations

from math import prod

import numpy as np

from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute.specs import Array, spec_of
from kv260_runtime.xmodel import Graph, Op, Subgraph

CONSTANT_TYPES = frozenset({"const", "const-fix"})


class Constants:
    """Reads the constants of a graph, as views of the bytes in the file where possible."""

    def __init__(self, graph: Graph) -> None:
        """Remember which DPU subgraph each operator belongs to."""
        self._source = graph.source
        self._homes = {name: child for child in graph.on_device("DPU") for name in child.all_op_names()}
        self._blocks: dict[tuple[str, str], bytes] = {}

    def load(self, op: Op) -> Array:
        """The values of one constant, of the tensor's shape and type; ModelRejected if the file does not hold them."""
        spec = spec_of(op.tensor, self._source)
        dtype = np.dtype(spec.dtype)
        size = prod(spec.shape) * dtype.itemsize
        data = op.attrs.get("data", b"")
        if not len(data) and op.name in self._homes:
            data = self._in_block(op, self._homes[op.name], size)
        if len(data) != size:
            raise ModelRejected(f"{self._source}: constant {op.name!r} has {len(data)} bytes, its tensor needs {size}")
        return np.frombuffer(data, dtype).reshape(spec.shape)

    def _in_block(self, op: Op, home: Subgraph, size: int) -> memoryview:
        """Plain values at (reg_id, ddr_addr): xmodel_execution.md, The file."""
        register = f"REG_{op.tensor.attrs.get('reg_id')}"
        address = op.tensor.attrs.get("ddr_addr")
        blocks = home.attrs.get("reg_id_to_parameter_value", {})
        if register not in blocks or not isinstance(address, int):
            raise ModelRejected(f"{self._source}: constant {op.name!r} has no values in the file ({register})")
        key = (home.name, register)
        block = self._blocks.setdefault(key, blocks[register])
        if address < 0 or address + size > len(block):
            raise ModelRejected(
                f"{self._source}: constant {op.name!r} lies at {address}..{address + size} of {register}, "
                f"which has {len(block)} bytes"
            )
        return memoryview(block)[address : address + size]
