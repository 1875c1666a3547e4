"""DDR traffic of a DPU subgraph from the sizes of its tensors, for files whose instructions are absent or unreadable.

The model: constants are loaded once; what crosses the subgraph's edge is loaded or saved; a tensor that passes between
superlayers is saved and loaded again by each reader, unless it is small enough to stay in the DPU's memory; a
concatenation is written in place by its inputs; a convolution of an image of few channels (`channel_augmentation`)
loads the rows of its kernel anew for each output row.
On the 16 ISA1 subgraphs of static_traffic.tsv the total is within 8 % of the decoded bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kv260_runtime.xmodel.attributes import INTEGERS
from kv260_runtime.xmodel.graph import Graph, Op, Subgraph, Tensor
from kv260_runtime.xmodel.operators import CONSTANTS

ON_CHIP_BYTES = 200_704
"""Largest tensor seen to stay in the DPU between superlayers; the next larger one in the same files goes to DDR."""

_IN_PLACE = ("concat-fix", "reshape-fix", "download")


@dataclass
class Estimate:
    """Bytes by what lies behind the register, as in `Traffic`."""

    load_const_bytes: int = 0
    load_interface_bytes: int = 0
    load_workspace_bytes: int = 0
    save_workspace_bytes: int = 0
    save_interface_bytes: int = 0


@dataclass
class _View:
    """A subgraph's operators with who reads them and which superlayer holds them."""

    ops: dict[str, Op]
    readers: dict[str, list[Op]] = field(default_factory=dict)
    layers: dict[str, int] = field(default_factory=dict)

    def layers_reading(self, op: Op) -> int:
        """How many other superlayers read an operator's output; in-place operators move nothing themselves."""
        readers = {self._layer(reader) for reader in self.consumers(op) if reader.type not in _IN_PLACE}
        return len(readers - {self._layer(op)})

    def _layer(self, op: Op) -> int | str:
        """The superlayer's number; an operator outside every superlayer is one of its own."""
        return self.layers.get(op.name, op.name)

    def consumers(self, op: Op, *types: str) -> list[Op]:
        """Readers of an operator, or those of one of these types."""
        return [reader for reader in self.readers.get(op.name, []) if not types or reader.type in types]


def estimate_traffic(graph: Graph, subgraph: Subgraph) -> Estimate:
    """Estimate the bytes of one execution."""
    view = _View({op.name: op for op in graph.ops_of(subgraph)})
    for op in view.ops.values():
        for producer in dict.fromkeys(op.producers()):
            view.readers.setdefault(producer, []).append(op)
    for number, layer in enumerate(subgraph.children):
        view.layers.update(dict.fromkeys(layer.all_op_names(), number))
    estimate = Estimate()
    for op in view.ops.values():
        if op.type in CONSTANTS:
            estimate.load_const_bytes += op.tensor.size_bytes
        elif op.type == "upload":
            _count_input(estimate, view, op)
        elif op.type == "download":
            estimate.save_interface_bytes += op.tensor.size_bytes
        else:
            _count_activation(estimate, view, op)
    return estimate


def _count_input(estimate: Estimate, view: _View, upload: Op) -> None:
    for reader in view.consumers(upload):
        estimate.load_interface_bytes += _loaded_bytes(reader, upload.tensor)
        if reader.type == "concat-fix" and not _stays(reader.tensor):
            estimate.save_workspace_bytes += upload.tensor.size_bytes


def _count_activation(estimate: Estimate, view: _View, op: Op) -> None:
    size_bytes = op.tensor.size_bytes
    loads = 0 if _stays(op.tensor) else size_bytes * view.layers_reading(op)
    if view.consumers(op, "download"):  # it lies behind the output register, and the download counts as its save
        estimate.load_interface_bytes += loads
        return
    estimate.load_workspace_bytes += loads
    joined = any(not _stays(reader.tensor) for reader in view.consumers(op, "concat-fix"))
    if op.type not in _IN_PLACE and (loads or joined):
        estimate.save_workspace_bytes += size_bytes


def _stays(tensor: Tensor) -> bool:
    """Whether a tensor never leaves the DPU: fused with its reader (`location` 0), or small."""
    return tensor.attrs.expect("location", INTEGERS, 1) == 0 or tensor.size_bytes <= ON_CHIP_BYTES


def _loaded_bytes(op: Op, image: Tensor) -> int:
    """With `channel_augmentation`: output rows times kernel rows times the bytes of an image row (exact in 8 files)."""
    kernel: list[int] = op.attrs.expect("kernel", ("int32_vec",), [])
    augmented = op.type == "conv2d-fix" and op.attrs.expect("channel_augmentation", INTEGERS, 0)
    if not augmented or len(kernel) != 2 or len(op.tensor.shape) != 4 or len(image.shape) != 4:
        return image.size_bytes
    return op.tensor.shape[1] * abs(kernel[1]) * image.shape[2] * image.shape[3]
