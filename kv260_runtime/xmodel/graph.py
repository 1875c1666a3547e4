"""The XIR graph: operators with one output tensor each, in topological order, and a tree of subgraphs over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from kv260_runtime.xmodel.attributes import INTEGERS, Attributes, Value
from kv260_runtime.xmodel.errors import XModelError

DATA_TYPES = ("int", "uint", "xint", "xuint", "float", "bfloat", "unknown")
"""Names of the types of tensor elements by their number in the file."""

MAX_FIX_POINT = 127


@dataclass(eq=True)
class Tensor:
    """The output of an operator; activations are NHWC."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """Lower case type and bit width: `xint8`, `float32`."""
    attrs: Attributes = field(default_factory=Attributes)

    @property
    def fix_point(self) -> int | None:
        """Number of fraction bits: real value = integer * 2 ** -fix_point; None for a float tensor."""
        value: int | None = self.attrs.expect("fix_point", INTEGERS)
        if value is not None and abs(value) > MAX_FIX_POINT:
            raise self.attrs.fault("fix_point", f"is {value}, beyond {MAX_FIX_POINT}")
        return value

    @property
    def element_count(self) -> int:
        """Product of the shape."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole tensor, from shape and bit width."""
        bits = int("".join(filter(str.isdigit, self.dtype)) or 0)
        return (self.element_count * bits + 7) // 8


@dataclass(eq=True)
class Op:
    """One operator."""

    name: str
    type: str
    tensor: Tensor
    args: dict[str, list[str]] = field(default_factory=dict)
    """Argument name to the names of the producing operators."""
    attrs: Attributes = field(default_factory=Attributes)

    def producers(self) -> Iterator[str]:
        """Names of the operators this one reads, in the order of the file."""
        for names in self.args.values():
            yield from names


@dataclass(eq=True)
class Subgraph:
    """A node of the subgraph tree; only leaves list operators."""

    name: str
    op_names: list[str] = field(default_factory=list)
    attrs: Attributes = field(default_factory=Attributes)
    children: list[Subgraph] = field(default_factory=list)

    @property
    def device(self) -> str | None:
        """`USER`, `DPU` or `CPU`; None where the file names none (quantised, not compiled; superlayers)."""
        value: str | None = self.attrs.expect("device", ("string",))
        return value

    @property
    def workload(self) -> int | None:
        """Operations of one execution (two per multiply-accumulate), as the compiler states them."""
        value: int | None = self.attrs.expect("workload", INTEGERS)
        return value

    def all_op_names(self) -> list[str]:
        """Operators of this subgraph and of all below it."""
        return [name for node in self.walk() for name in node.op_names]

    def walk(self) -> Iterator[Subgraph]:
        """This node and all below it, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass(eq=True)
class ArgDef:
    """One declared input of an operator type."""

    name: str
    occurrence: int
    """0 required, 1 optional, 2 repeated, 3 required and repeated."""
    data_type: int
    annotation: str = ""


@dataclass(eq=True)
class AttrDef:
    """One declared attribute of an operator type; its type is that of the default."""

    name: str
    occurrence: int
    """0 required, 1 optional."""
    default: tuple[str, Value] | None
    """(kind, value)."""
    list_length: int = 0
    annotation: str = ""


@dataclass(eq=True)
class OpDef:
    """The definition of an operator type that a file carries with it."""

    name: str
    args: list[ArgDef] = field(default_factory=list)
    attrs: list[AttrDef] = field(default_factory=list)
    annotation: str = ""


@dataclass(eq=True)
class Graph:
    """A whole XModel."""

    name: str
    ops: list[Op]
    root: Subgraph
    attrs: Attributes = field(default_factory=Attributes)
    op_defs: list[OpDef] = field(default_factory=list)
    source: str = field(default="", compare=False)
    """File name, for error messages."""

    @cached_property
    def _by_name(self) -> dict[str, Op]:
        return {op.name: op for op in self.ops}

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {op.name: position for position, op in enumerate(self.ops)}

    @cached_property
    def _consumers(self) -> dict[str, list[str]]:
        consumers: dict[str, list[str]] = {}
        for op in self.ops:
            for producer in op.producers():
                consumers.setdefault(producer, []).append(op.name)
        return consumers

    def op(self, name: str) -> Op:
        """The operator of that name; XModelError if there is none."""
        try:
            return self._by_name[name]
        except KeyError:
            raise XModelError(self.source, f"operator {name!r}", "is not in the graph") from None

    def ops_of(self, subgraph: Subgraph) -> list[Op]:
        """Operators of a subgraph in topological order."""
        return sorted(map(self.op, subgraph.all_op_names()), key=lambda op: self._positions[op.name])

    @property
    def subgraphs(self) -> list[Subgraph]:
        """The root's children in execution order."""
        return self.root.children

    @property
    def is_compiled(self) -> bool:
        """Whether the top level is split among devices."""
        return any(child.device is not None for child in self.root.children)

    def on_device(self, device: str) -> list[Subgraph]:
        """Top-level subgraphs of a device, in order."""
        return [child for child in self.root.children if child.device == device]

    @property
    def target(self) -> str | None:
        """`dpu_name` of the DPU subgraphs, e.g. `DPUCZDX8G_ISA1_B4096`; None if no subgraph names one."""
        for child in self.on_device("DPU"):
            name: str | None = child.attrs.expect("dpu_name", ("string",))
            if name is not None:
                return name
        return None

    @property
    def fingerprint(self) -> int | None:
        """`dpu_fingerprint` of the DPU subgraphs; None if no subgraph carries one."""
        for child in self.on_device("DPU"):
            value: int | None = child.attrs.expect("dpu_fingerprint", INTEGERS)
            if value is not None:
                return value
        return None

    def input_tensors(self, subgraph: Subgraph) -> list[Tensor]:
        """Tensors produced outside a subgraph and read inside it, sorted by name as VART lists them (board.md 5.2)."""
        inside = set(subgraph.all_op_names())
        names = {producer for name in inside for producer in self.op(name).producers() if producer not in inside}
        return sorted((self.op(name).tensor for name in names), key=lambda tensor: tensor.name)

    def output_tensors(self, subgraph: Subgraph) -> list[Tensor]:
        """Tensors produced inside a subgraph and read outside it or by nobody, sorted by name."""
        inside = set(subgraph.all_op_names())
        outputs = []
        for name in inside:
            consumers = self._consumers.get(name, [])
            if not consumers or any(consumer not in inside for consumer in consumers):
                outputs.append(self.op(name).tensor)
        return sorted(outputs, key=lambda tensor: tensor.name)
