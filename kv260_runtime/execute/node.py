"""One operator as its planner sees it: checked attributes, specs of inputs and output, constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute.specs import Array, TensorSpec
from kv260_runtime.xmodel import Op


@dataclass
class Node:
    """An operator with everything a planner may ask; whatever is not as expected raises ModelRejected, by name."""

    op: Op
    output: TensorSpec
    specs: Mapping[str, TensorSpec]
    """Output specs of all operators this one reads, by operator name."""
    constants: Mapping[str, Array]
    """Values of those among them that are known before running."""
    accumulator: type[np.generic] = np.int64
    """What wide sums are kept in: int64, or float64 for its matrix product (exact below 2 ** 53)."""
    source: str = ""
    notes: list[str] = field(default_factory=list)
    """What a user should know about the rules used, one line each."""
    reads: list[str] = field(init=False)
    """Operators whose values the kernel takes, in order; a planner may change it."""

    def __post_init__(self) -> None:
        """Take the argument `input` unless a planner says otherwise."""
        self.reads = list(self.op.args.get("input", []))

    def rejected(self, reason: str) -> ModelRejected:
        """The error that names this operator."""
        return ModelRejected(f"{self.source}: operator {self.op.name!r} ({self.op.type}): {reason}")

    def note(self, text: str) -> None:
        """Tell the user something about how this operator is computed."""
        self.notes.append(f"operator {self.op.name!r} ({self.op.type}): {text}")

    def inputs(self, argument: str = "input") -> list[TensorSpec]:
        """Specs of the tensors of an argument; at least one."""
        names = self.op.args.get(argument, [])
        if not names:
            raise self.rejected(f"has no argument {argument!r}")
        return [self.specs[name] for name in names]

    def input(self, argument: str = "input") -> TensorSpec:
        """Spec of an argument that must be one tensor."""
        found = self.inputs(argument)
        if len(found) != 1:
            raise self.rejected(f"argument {argument!r} has {len(found)} tensors, 1 expected")
        return found[0]

    def has(self, argument: str) -> bool:
        """Whether an optional argument is there."""
        return bool(self.op.args.get(argument))

    def constant(self, argument: str) -> tuple[TensorSpec, Array]:
        """Spec and values of an argument that must be known before running."""
        spec = self.input(argument)
        name = self.op.args[argument][0]
        if name not in self.constants:
            raise self.rejected(f"argument {argument!r} is computed while running; only constants are supported there")
        return spec, self.constants[name]

    def gives(self, shape: Sequence[int]) -> None:
        """Refuse the operator unless its output tensor has this shape."""
        if tuple(shape) != self.output.shape:
            raise self.rejected(f"gives the shape {list(shape)}, but its tensor is {list(self.output.shape)}")

    def elementwise(self) -> None:
        """Refuse the operator unless its inputs, broadcast together, give the shape of its output."""
        shapes = [spec.shape for spec in self.inputs()]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            raise self.rejected(f"inputs of the shapes {[list(shape) for shape in shapes]} do not match") from None
        self.gives(shape)

    def fix_point(self, spec: TensorSpec) -> int:
        """The fix point of a tensor that must have one."""
        if spec.fix_point is None:
            raise self.rejected(f"tensor {spec.name!r} has no fix point")
        return spec.fix_point

    def attribute(self, key: str, default: object = None) -> object:
        """An attribute's value, or the default; a missing one without a default is refused."""
        value: object = self.op.attrs.get(key, default)
        if value is None:
            raise self.rejected(f"has no attribute {key!r}")
        return value

    def integer(self, key: str, default: int | None = None) -> int:
        """An attribute that must be a whole number."""
        value = self.attribute(key, default)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.rejected(f"attribute {key!r} is {value!r}, a whole number expected")
        return value

    def integers(self, key: str, count: int | None = None, default: Sequence[int] | None = None) -> list[int]:
        """An attribute that must be a list of whole numbers, of a given length where one is named."""
        value = self.attribute(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            value = [value]
        values = [int(item) for item in value] if isinstance(value, list | tuple) else None
        if values is None or (count is not None and len(values) != count):
            raise self.rejected(f"attribute {key!r} is {value!r}, {count or 'some'} whole numbers expected")
        return values

    def numbers(self, key: str, default: Sequence[float] | None = None) -> list[float]:
        """An attribute that must be a list of numbers."""
        value = self.attribute(key, default)
        values = value if isinstance(value, list | tuple) else [value]
        found = [float(item) for item in values if isinstance(item, int | float)]
        if len(found) != len(values):
            raise self.rejected(f"attribute {key!r} is {value!r}, numbers expected")
        return found

    def text(self, key: str, default: str | None = None) -> str:
        """An attribute that must be a string."""
        value = self.attribute(key, default)
        if not isinstance(value, str):
            raise self.rejected(f"attribute {key!r} is {value!r}, a string expected")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """An attribute that is a truth value."""
        return bool(self.attribute(key, default))
