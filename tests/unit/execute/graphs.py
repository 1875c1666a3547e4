"""Small graphs to plan and run: each operator with the fix points and constants a test gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kv260_runtime.xmodel import Attributes, Graph, Op, Subgraph, Tensor

Array = npt.NDArray[Any]
WINDOW = {"kernel": [1, 1], "stride": [1, 1], "dilation": [1, 1], "pad": [0, 0, 0, 0]}


class Builder:
    """Adds operators one by one; a tensor is called after its operator, with `_fix` behind it."""

    def __init__(self) -> None:
        self.ops: list[Op] = []

    def add(
        self,
        name: str,
        op_type: str,
        shape: Sequence[int],
        args: Mapping[str, Sequence[str]] | None = None,
        fix_point: int | None = None,
        /,
        **attrs: Any,
    ) -> str:
        """An operator whose tensor is xint8 if it has a fix point, else float32."""
        tensor_attrs = Attributes({} if fix_point is None else {"fix_point": fix_point})
        dtype = "float32" if fix_point is None else "xint8"
        tensor = Tensor(f"{name}_fix", tuple(shape), dtype, tensor_attrs)
        arguments = {key: list(names) for key, names in (args or {}).items()}
        self.ops.append(Op(name, op_type, tensor, arguments, Attributes(attrs)))
        return name

    def input(self, shape: Sequence[int], fix_point: int = 0, name: str = "x") -> str:
        """A fixed-point input."""
        return self.add(name, "data-fix", shape, None, fix_point)

    def constant(self, values: Array, fix_point: int | None = 0, name: str = "w") -> str:
        """int8 values with a fix point, or float32."""
        if fix_point is None:
            return self.add(name, "const", values.shape, None, None, data=values.astype(np.float32).tobytes())
        return self.add(name, "const-fix", values.shape, None, fix_point, data=values.astype(np.int8).tobytes())

    def graph(self) -> Graph:
        """All operators, no subgraphs: as in a quantised file."""
        root = Subgraph("root", [op.name for op in self.ops])
        return Graph("small", self.ops, root, source="small.xmodel")


def int8(random: np.random.Generator, shape: Sequence[int], extreme: bool = False) -> Array:
    """Noise over the whole range, or only of its ends."""
    if extreme:
        return random.choice(np.array([-128, 127], np.int8), tuple(shape))
    return random.integers(-128, 128, tuple(shape)).astype(np.int8)
