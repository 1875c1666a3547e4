"""The vendor's `xir` module as far as runners use it, with its traps (board facts, 5.1).

Objects are views of one Graph. A missing attribute, an unknown operator or a bad file aborts the process; attributes
that map strings to bytes or to 64-bit integers read as None; inputs and outputs come as sets.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

from kv260_runtime.xmodel import Attributes, XModelError, read_xmodel
from kv260_runtime.xmodel import Graph as Model
from kv260_runtime.xmodel import Op as ModelOp
from kv260_runtime.xmodel import Subgraph as ModelSubgraph
from kv260_runtime.xmodel import Tensor as ModelTensor
from virtual_board import glog

HIDDEN_KINDS = ("map_bytes", "map_uint32", "map_int64", "map_uint64")


class _Attributed:
    """has_attr, get_attr, get_attrs."""

    _attributes: Attributes

    def has_attr(self, key: str) -> bool:
        """Whether the attribute is there; ask before `get_attr`."""
        return key in self._attributes

    def get_attr(self, key: str) -> Any:  # noqa: ANN401  (the binding converts to what the file holds)
        """The value; aborts the process if there is none."""
        if key not in self._attributes:
            glog.fatal("attrs_imp.cpp:98", f"[UNILOG][FATAL][XIR_UNDEFINED_ATTR][Undefined attribute!] {key}")
        return self.get_attrs()[key]

    def get_attrs(self) -> dict[str, Any]:
        """All attributes; None where the binding knows no conversion."""
        return {key: _python_value(*self._attributes.typed(key)) for key in self._attributes}


class Tensor(_Attributed):
    """A tensor: `name`, `dims`, `ndim`, `dtype`."""

    def __init__(self, graph: Graph, tensor: ModelTensor) -> None:
        self._graph = graph
        self._tensor = tensor
        self._attributes = tensor.attrs
        self.name = tensor.name
        self.dims = list(tensor.shape)
        self.ndim = len(self.dims)
        self.dtype = tensor.dtype

    def get_element_num(self) -> int:
        """Product of the shape."""
        return self._tensor.element_count

    def get_data_size(self) -> int:
        """Bytes."""
        return self._tensor.size_bytes

    @property
    def producer(self) -> Op:
        """The operator that makes it."""
        return self._graph.get_tensor_producer(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self._tensor is other._tensor

    def __hash__(self) -> int:
        return id(self._tensor)


class Op(_Attributed):
    """An operator."""

    def __init__(self, graph: Graph, op: ModelOp) -> None:
        self._graph = graph
        self._op = op
        self._attributes = op.attrs

    def get_name(self) -> str:
        """Its name."""
        return self._op.name

    def get_type(self) -> str:
        """Its type, e.g. `conv2d-fix`."""
        return self._op.type

    def get_input_ops(self) -> dict[str, list[Op]]:
        """Producers by argument."""
        model = self._graph.model
        return {name: [Op(self._graph, model.op(op)) for op in ops] for name, ops in self._op.args.items()}

    def get_input_num(self, name: str) -> int:
        """How many producers an argument has."""
        return len(self._op.args.get(name, []))

    def get_input_ops_by_name(self, name: str) -> list[Op]:
        """Producers of one argument."""
        return self.get_input_ops()[name]

    def get_input_op(self, name: str, idx: int = 0) -> Op:
        """One producer of one argument."""
        return self.get_input_ops()[name][idx]

    def get_fanout_ops(self) -> list[Op]:
        """Operators that read what it produces."""
        return [op for op in self._graph.toposort() if self._op.name in op._op.producers()]

    def get_fanout_num(self) -> int:
        """How many operators read what it produces."""
        return len(self.get_fanout_ops())

    def get_input_tensors(self) -> list[Tensor]:
        """What it reads, in the order of the file."""
        return [self._graph.get_op(name).get_output_tensor() for name in self._op.producers()]

    def get_input_tensors_by_name(self, name: str) -> list[Tensor]:
        """What it reads as one argument."""
        return [op.get_output_tensor() for op in self.get_input_ops_by_name(name)]

    def get_input_tensor(self, name: str, idx: int = 0) -> Tensor:
        """One tensor of one argument."""
        return self.get_input_op(name, idx).get_output_tensor()

    def get_output_tensor(self) -> Tensor:
        """What it produces."""
        return Tensor(self._graph, self._op.tensor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and self._op is other._op

    def __hash__(self) -> int:
        return id(self._op)


class Subgraph(_Attributed):
    """A node of the subgraph tree."""

    def __init__(self, graph: Graph, subgraph: ModelSubgraph, parent: Subgraph | None) -> None:
        self.graph = graph
        self.model = subgraph
        self._parent = parent
        self._attributes = subgraph.attrs
        self.is_root = parent is None
        self.is_leaf = not subgraph.children

    def get_name(self) -> str:
        """Its name."""
        return self.model.name

    @property
    def root(self) -> Subgraph:
        """The top of the tree."""
        return self.graph.get_root_subgraph()

    get_root = root

    @property
    def depth(self) -> int:
        """How many nodes lie above it."""
        return 0 if self._parent is None else self._parent.depth + 1

    def get_graph(self) -> Graph:
        """The graph it is part of."""
        return self.graph

    def has_op(self, op: Op | str) -> bool:
        """Whether it holds an operator."""
        return (op if isinstance(op, str) else op.get_name()) in self.model.all_op_names()

    def is_child(self, other: Subgraph) -> bool:
        """Whether another one lies directly below."""
        return any(other.model is child for child in self.model.children)

    def find_child_subgraph_by_op_name(self, name: str) -> Subgraph | None:
        """The node directly below that holds an operator."""
        return next((child for child in self.toposort_child_subgraph() if child.has_op(name)), None)

    def find_child_subgraph_by_op(self, op: Op) -> Subgraph | None:
        """The node directly below that holds an operator."""
        return self.find_child_subgraph_by_op_name(op.get_name())

    def get_tensor_producer(self, tensor: Tensor) -> Op:
        """The operator that makes a tensor."""
        return self.graph.get_tensor_producer(tensor)

    def get_parent(self) -> Subgraph | None:
        """The node above."""
        return self._parent

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subgraph) and self.model is other.model

    def __hash__(self) -> int:
        return id(self.model)

    def get_children_num(self) -> int:
        """How many nodes lie directly below."""
        return len(self.model.children)

    def get_children(self) -> set[Subgraph]:
        """The nodes directly below, unordered."""
        return set(self.toposort_child_subgraph())

    def toposort_child_subgraph(self) -> list[Subgraph]:
        """The nodes directly below, in the order of execution."""
        return [Subgraph(self.graph, child, self) for child in self.model.children]

    def get_op_num(self) -> int:
        """How many operators it holds."""
        return len(self.model.all_op_names())

    def get_ops(self) -> set[Op]:
        """Its operators, unordered."""
        return set(self.toposort())

    def toposort(self) -> list[Op]:
        """Its operators, producers first."""
        return [Op(self.graph, op) for op in self.graph.model.ops_of(self.model)]

    def get_input_tensors(self) -> set[Tensor]:
        """What it reads, unordered."""
        return {Tensor(self.graph, tensor) for tensor in self.graph.model.input_tensors(self.model)}

    def get_output_tensors(self) -> set[Tensor]:
        """What it produces for others, unordered."""
        return {Tensor(self.graph, tensor) for tensor in self.graph.model.output_tensors(self.model)}


class Graph(_Attributed):
    """A whole XModel."""

    def __init__(self, model: Model, identity: Hashable = None) -> None:
        self.model = model
        self.identity: Hashable = identity or id(model)
        """Equal for graphs of the same unchanged file."""
        self._attributes = model.attrs

    @staticmethod
    def deserialize(filename: str) -> Graph:
        """Read a file; aborts the process if it cannot be read."""
        try:
            model = read_xmodel(filename)
            status = Path(filename).stat()
            return Graph(model, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
        except XModelError as error:
            glog.fatal("graph_imp.cpp:214", f"[UNILOG][FATAL][XIR_READ_PB_FAILURE] {error}")

    def get_name(self) -> str:
        """Its name."""
        return self.model.name

    def get_root_subgraph(self) -> Subgraph:
        """The top of the subgraph tree."""
        return Subgraph(self, self.model.root, None)

    def get_op_num(self) -> int:
        """How many operators it holds."""
        return len(self.model.ops)

    def toposort(self) -> list[Op]:
        """All operators, producers first."""
        return [Op(self, op) for op in self.model.ops]

    def get_ops(self) -> set[Op]:
        """All operators, unordered."""
        return set(self.toposort())

    def get_op(self, name: str) -> Op:
        """The operator of that name; aborts the process if there is none."""
        try:
            return Op(self, self.model.op(name))
        except XModelError as error:
            glog.fatal("graph_imp.cpp:265", f"[UNILOG][FATAL][XIR_UNDEFINED_OP][Undefined OP!] {error}")

    def get_tensors(self) -> set[Tensor]:
        """The output of every operator, unordered."""
        return {op.get_output_tensor() for op in self.toposort()}

    def get_tensor(self, name: str) -> Tensor:
        """The tensor of that name; aborts the process if there is none."""
        return self._making(name).get_output_tensor()

    def get_tensor_producer(self, tensor: Tensor) -> Op:
        """The operator that makes a tensor; aborts the process if there is none."""
        return self._making(tensor.name)

    def _making(self, name: str) -> Op:
        found = next((op for op in self.model.ops if op.tensor.name == name), None)
        if found is None:
            glog.fatal("graph_imp.cpp:287", f"[UNILOG][FATAL][XIR_UNDEFINED_TENSOR][Undefined tensor!] {name}")
        return Op(self, found)

    def get_head_ops(self) -> list[Op]:
        """Operators that read nothing."""
        return [op for op in self.toposort() if not op.get_input_tensors()]

    def get_tail_ops(self) -> list[Op]:
        """Operators that nobody reads."""
        return [op for op in self.toposort() if not op.get_fanout_num()]

    def get_leaf_subgraph(self, op: Op) -> Subgraph:
        """The lowest node that holds an operator."""
        node = self.get_root_subgraph()
        while (below := node.find_child_subgraph_by_op(op)) is not None:
            node = below
        return node


def _python_value(kind: str, value: Any) -> Any:  # noqa: ANN401
    if kind in HIDDEN_KINDS or (kind.startswith("map_") and kind.endswith("_vec")):
        return None
    return bytes(value) if kind == "bytes" else value
