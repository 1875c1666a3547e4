"""Where the tensors of a DPU subgraph lie: inputs and outputs one after the other, the workspace shared by lifetime."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from virtual_board.models_network import Layer

ALIGNMENT_BYTES = 16
WORKSPACE, INPUTS, OUTPUTS = 1, 2, 3


@dataclass(frozen=True)
class Place:
    """A tensor's register, address and the number of channels between two pixels (more than its own inside a join)."""

    reg_id: int
    address: int
    pitch: int


@dataclass
class Packed:
    """A register whose tensors lie one after the other."""

    size_bytes: int = 0

    def place(self, size_bytes: int) -> int:
        """The address of a new tensor."""
        address = _align(self.size_bytes)
        self.size_bytes = address + size_bytes
        return address


@dataclass
class _Block:
    address: int
    end: int
    last_use: int


@dataclass
class Workspace:
    """First fit: a buffer takes the lowest gap among those still in use when it is first written."""

    size_bytes: int = 0
    _blocks: list[_Block] = field(default_factory=list)

    def place(self, size_bytes: int, first_use: int, last_use: int) -> int:
        """The address of a buffer that lives from one step to another; calls come in rising order of `first_use`."""
        address = 0
        for block in sorted(self._alive(first_use), key=lambda block: block.address):
            if address + size_bytes <= block.address:
                break
            address = max(address, _align(block.end))
        self._blocks.append(_Block(address, address + size_bytes, last_use))
        self.size_bytes = max(self.size_bytes, address + size_bytes)
        return address

    def _alive(self, step: int) -> Iterable[_Block]:
        return (block for block in self._blocks if block.last_use >= step)


def _align(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


class Layout:
    """Places of the activations of one DPU subgraph."""

    def __init__(self, layers: Mapping[str, Layer], members: Sequence[str], outputs: Collection[str]) -> None:
        """`members` are the subgraph's layers in execution order, `outputs` those of them that are read outside."""
        self._layers, self._outputs = layers, outputs
        self._steps = {name: step for step, name in enumerate(members)}
        self._readers: dict[str, list[Layer]] = {name: [] for name in members}
        for name in members:
            for source in layers[name].inputs:
                if source in self._readers:
                    self._readers[source].append(layers[name])
        self.outputs, self.workspace = Packed(), Workspace()
        self.places: dict[str, Place] = {}
        for name in members:
            if name not in self.places and not self.is_fused(name):
                self._place(name)

    def is_fused(self, name: str) -> bool:
        """Whether a convolution's result is added to another tensor before it leaves the DPU."""
        kinds = [reader.kind for reader in self._readers[name]]
        return self._layers[name].kind == "conv" and kinds == ["add"] and name not in self._outputs

    def joint(self, name: str) -> Layer | None:
        """The concatenation whose buffer a layer writes into, if any."""
        if name in self._outputs:
            return None
        return next((reader for reader in self._readers.get(name, []) if reader.kind == "concat"), None)

    def _place(self, name: str) -> None:
        """Place a layer's buffer; for a part of a concatenation, that of the whole with all its parts."""
        owner = self.joint(name) or self._layers[name]
        parts = [source for source in owner.inputs if self.joint(source) is owner] if owner.kind == "concat" else []
        height, width, channels = owner.shape
        size_bytes = height * width * channels
        if owner.name in self._outputs:
            reg_id, address = OUTPUTS, self.outputs.place(size_bytes)
        else:
            last_use = max(self._steps[reader.name] for part in [owner.name, *parts] for reader in self._readers[part])
            reg_id, address = WORKSPACE, self.workspace.place(size_bytes, self._steps[name], last_use)
        self.places[owner.name] = Place(reg_id, address, channels)
        if parts:
            for source in owner.inputs:
                if source in parts:
                    self.places[source] = Place(reg_id, address, channels)
                address += self._layers[source].shape[2]
