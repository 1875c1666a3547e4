"""From the layers of a detector to an XModel as the vendor's compiler would write it, but without instructions.

A slice runs on the CPU between a fix2float and a float2fix; what lies between two slices is one DPU subgraph.
Attributes, registers and layouts follow real DPUCZDX8G_ISA1 files of compiler 2.5 (xmodel_execution.md, The file).
"""

from __future__ import annotations

from collections.abc import Mapping

from kv260_runtime.xmodel import Attributes, Graph, Op, Subgraph, Tensor
from virtual_board.models_dpu import (
    ACTIVATION_FIX_POINT,
    INPUT_FIX_POINT,
    NAME,
    DpuSubgraph,
    add_workloads,
    fixed,
    op_name,
    set_workload,
)
from virtual_board.models_network import Detector, Layer

CPU_RUNNERS = dict.fromkeys(("run", "ref", "sim"), "libvart-cpu-runner.so")


def compile_detector(detector: Detector) -> Graph:
    """Partition the layers, compile each part and join them in execution order."""
    return _Compiler(detector).graph


class _Compiler:
    def __init__(self, detector: Detector) -> None:
        self._layers = detector.layers
        self._levels = _levels(detector.layers)
        self._op_of: dict[str, str] = {}
        notes = Attributes({"libs_info": {"kvbench.demo.1": "generated, without instructions"}})
        self.graph = Graph(NAME, [], Subgraph("root"), notes)
        self._input(self._layers["input"])
        for level in range(1, max(self._levels.values()) + 1):
            members = [name for name, own in self._levels.items() if own == level]
            for name in members:
                if self._layers[name].kind == "slice":
                    self._slice(self._layers[name])
            self._dpu([name for name in members if self._layers[name].kind != "slice"], detector.outputs)
        for name in detector.outputs:
            self._output(name)
        add_workloads(self.graph.root.attrs, [child.attrs for child in self.graph.root.children])

    def _add(self, subgraph: Subgraph, ops: list[Op]) -> None:
        self.graph.ops.extend(ops)
        self.graph.root.children.append(subgraph)

    def _input(self, layer: Layer) -> None:
        name, shape = op_name(layer.name), (1, *layer.shape)
        attrs = Attributes({"device": "USER", "data_type": "XINT8", "shape": list(shape)})
        self._op_of[layer.name] = name
        self._host("USER", [Op(name, "data-fix", fixed(f"{name}_fix", shape, INPUT_FIX_POINT), {}, attrs)])

    def _host(self, device: str, ops: list[Op]) -> None:
        attrs = Attributes({"device": device} if device == "USER" else {"device": device, "runner": CPU_RUNNERS})
        set_workload(attrs, 0, 0)
        self._add(Subgraph(f"subgraph_{ops[0].name}", [op.name for op in ops], attrs), ops)

    def _dpu(self, members: list[str], final: list[str]) -> None:
        read_outside = {
            source for layer in self._layers.values() if layer.name not in members for source in layer.inputs
        }
        outputs = [name for name in members if name in read_outside or name in final]
        compiled = DpuSubgraph(self._layers, members, outputs, self._op_of)
        self._op_of.update({name: f"{op_name(name)}_download_0" for name in outputs})
        self._add(compiled.subgraph, compiled.ops)

    def _slice(self, layer: Layer) -> None:
        (source,) = layer.inputs
        whole, part = (1, *self._layers[source].shape), (1, *layer.shape)
        name = op_name(layer.name)
        first, end = layer.rows
        window = {"begin": [0, 0, 0, first], "end": [*part[:3], end], "strides": [1, 1, 1, 1]}
        self._op_of[layer.name] = name
        self._host(
            "CPU",
            [
                _to_float(f"{name}_float", self._op_of[source], whole),
                Op(
                    f"{name}_slice",
                    "strided_slice",
                    Tensor(f"{name}_slice", part, "float32"),
                    {"input": [f"{name}_float"]},
                    Attributes({"device": "CPU", **window}),
                ),
                Op(
                    name,
                    "float2fix",
                    fixed(f"{name}_fix", part, ACTIVATION_FIX_POINT),
                    {"input": [f"{name}_slice"]},
                    _conversion(),
                ),
            ],
        )

    def _output(self, layer: str) -> None:
        name = f"{op_name(layer)}_fix_"
        self._host("CPU", [_to_float(name, self._op_of[layer], (1, *self._layers[layer].shape))])


def _to_float(name: str, source: str, shape: tuple[int, ...]) -> Op:
    return Op(name, "fix2float", Tensor(name, shape, "float32"), {"input": [source]}, _conversion())


def _conversion() -> Attributes:
    return Attributes(
        {
            "device": "CPU", "fix_point": ACTIVATION_FIX_POINT, "bit_width": 8, "if_signed": True,
            "round_mode": "DPU_ROUND",
        }
    )  # fmt: skip


def _levels(layers: Mapping[str, Layer]) -> dict[str, int]:
    """Number of the DPU subgraph that holds a layer, from 1; for a slice, of the one that reads it; 0 for the input."""
    levels: dict[str, int] = {}
    for layer in layers.values():
        before = max((levels[name] for name in layer.inputs), default=0)
        levels[layer.name] = before + 1 if layer.kind == "slice" else max(before, int(layer.kind != "input"))
    return levels
