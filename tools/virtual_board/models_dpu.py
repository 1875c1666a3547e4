"""One DPU subgraph of a demo model: operators, superlayers, registers and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kv260_runtime.xmodel import Attributes, Op, Subgraph, Tensor
from virtual_board.models_memory import INPUTS, Layout, Packed, Place
from virtual_board.models_network import Layer
from virtual_board.models_weights import BIAS_FIX_POINT, BIAS_PEAK, Int8, draw, weight_scale

TARGET, FINGERPRINT = "DPUCZDX8G_ISA1_B4096", 0x101000056010407
"""The DPU in KV260 images of Vitis AI 3.0 and 3.5 (board.md section 1.7); the virtual board loads it by default."""
NAME = "C2fDetector"
INPUT_FIX_POINT, ACTIVATION_FIX_POINT = 6, 5
CHANNEL_PARALLEL = 16  # input and output channels that a B4096 works on at once
RUNNERS = {"run": "libvart-dpu-runner.so", "ref": "libvart-cpu-runner.so", "sim": "libvart-sim-runner.so"}
UPSAMPLING = {"mode": "NEAREST", "align_corners": False, "half_pixel_centers": False, "scale": [2.0, 2.0]}
OP_TYPES = {
    "conv": "conv2d-fix", "add": "eltwise-fix", "concat": "concat-fix", "maxpool": "pool-fix",
    "upsample": "upsample-fix",
}  # fmt: skip


def op_name(layer: str) -> str:
    """The operator of a layer, or the prefix of those that stand for it."""
    return f"{NAME}__{layer}"


def fixed(name: str, shape: tuple[int, ...], fix_point: int, **where: int | list[int]) -> Tensor:
    """A signed int8 tensor; `where` says at what address it lies."""
    attrs = {"bit_width": 8, "fix_point": fix_point, "if_signed": True, "round_mode": "DPU_ROUND", **where}
    return Tensor(name, shape, "xint8", Attributes(attrs))


def set_workload(attrs: Attributes, workload: int, on_arch: int) -> None:
    """Set the operations a compiler counts, and those the array spends on them with its channels filled up."""
    attrs.set("workload", workload, "uint64")
    attrs.set("workload_on_arch", on_arch, "uint64")


def add_workloads(attrs: Attributes, parts: Sequence[Attributes]) -> None:
    """Set the sums over parts that may lack a workload."""
    set_workload(
        attrs, sum(part.get("workload", 0) for part in parts), sum(part.get("workload_on_arch", 0) for part in parts)
    )


def in_memory(place: Place, shape: tuple[int, ...]) -> dict[str, int | list[int]]:
    """Tensor attributes of a place in DDR; the stride is in elements."""
    _, height, width, _ = shape
    row = width * place.pitch
    return {
        "reg_id": place.reg_id,
        "location": 1,
        "ddr_addr": place.address,
        "stride": [height * row, row, place.pitch, 1],
    }


class DpuSubgraph:
    """Compiles the layers of one DPU subgraph; `ops` and `subgraph` are the result."""

    def __init__(
        self, layers: Mapping[str, Layer], members: Sequence[str], outputs: Sequence[str], sources: Mapping[str, str]
    ) -> None:
        """`sources` gives, for a layer outside, the operator whose tensor holds it."""
        self._layers, self._outputs = layers, outputs
        self._layout = Layout(layers, members, outputs)
        self._inputs, self._constants = Packed(), bytearray()
        self._op_of: dict[str, str] = {}
        self.ops: list[Op] = []
        self.subgraph = Subgraph(f"subgraph_{op_name(members[0])}")
        for name in dict.fromkeys(source for member in members for source in layers[member].inputs):
            if name not in members:
                self._upload(name, sources[name])
        for name in members:
            self._layer(layers[name])
        for name in outputs:
            self._download(name)
        self._finish()

    def _superlayer(self, name: str, *ops: Op, skip: bool = False) -> None:
        attrs = Attributes({"skip_code_gen": True}) if skip else Attributes()
        add_workloads(attrs, [op.attrs for op in ops])
        self.subgraph.children.append(Subgraph(f"subgraph_{name}", [op.name for op in ops], attrs))
        self.ops.extend(ops)

    def _upload(self, layer: str, source: str) -> None:
        shape = (1, *self._layers[layer].shape)
        name = f"{source}_upload_0"
        where = Place(INPUTS, self._inputs.place(shape[1] * shape[2] * shape[3]), shape[3])
        tensor = fixed(f"{op_name(layer)}_fix_upload_0", shape, self._fix_point(layer), **in_memory(where, shape))
        self._op_of[layer] = name
        op = Op(name, "upload", tensor, {"input": [source]}, Attributes({"device": "DPU"}))
        self._superlayer(name, op, skip=True)

    def _download(self, layer: str) -> None:
        name, source = f"{op_name(layer)}_download_0", op_name(layer)
        tensor = fixed(f"{source}_fix", (1, *self._layers[layer].shape), ACTIVATION_FIX_POINT)
        self._superlayer(name, Op(name, "download", tensor, {"input": [source]}, Attributes({"device": "DPU"})))

    def _layer(self, layer: Layer) -> None:
        name = op_name(layer.name)
        inputs = {"input": [self._op_of[source] for source in layer.inputs]}
        op = Op(name, OP_TYPES[layer.kind], self._tensor(layer), inputs, Attributes({"device": "DPU"}))
        self._op_of[layer.name] = name
        if layer.kind == "conv":
            self._superlayer(name, *self._convolution(op, layer), op)
        elif layer.kind == "add":
            self._fuse_add(op)
        elif layer.kind == "concat":
            op.attrs["axis"] = 3
            self._superlayer(name, op, skip=all(self._layout.joint(source) is layer for source in layer.inputs))
        else:
            op.attrs.update(_pooling(layer.kernel) if layer.kind == "maxpool" else UPSAMPLING)
            if layer.kind == "maxpool":
                work = op.tensor.element_count * layer.kernel**2
                set_workload(op.attrs, work, work)
            self._superlayer(name, op)

    def _fuse_add(self, op: Op) -> None:
        """Make an addition part of the superlayer of the convolution before it."""
        op.attrs.update({"type": "ADD", "nonlinear": "NONE"})
        set_workload(op.attrs, 2 * op.tensor.element_count, 2 * op.tensor.element_count)
        self.ops.append(op)
        superlayer = self.subgraph.children[-1]
        superlayer.op_names.append(op.name)
        add_workloads(superlayer.attrs, [superlayer.attrs, op.attrs])

    def _tensor(self, layer: Layer) -> Tensor:
        name, shape = f"{op_name(layer.name)}_fix", (1, *layer.shape)
        if self._layout.is_fused(layer.name):
            return fixed(name, shape, ACTIVATION_FIX_POINT, reg_id=1, location=0, ddr_addr=0)
        suffix = "_download_0" if layer.name in self._outputs else ""
        where = in_memory(self._layout.places[layer.name], shape)
        return fixed(f"{name}{suffix}", shape, ACTIVATION_FIX_POINT, **where)

    def _fix_point(self, layer: str) -> int:
        return INPUT_FIX_POINT if self._layers[layer].kind == "input" else ACTIVATION_FIX_POINT

    def _convolution(self, op: Op, layer: Layer) -> list[Op]:
        """Complete a convolution and return its constants."""
        channels, kernel, out_channels = self._layers[layer.inputs[0]].shape[2], layer.kernel, layer.shape[2]
        fan_in = kernel**2 * channels
        before = (kernel - 1) // 2
        after = max(kernel - layer.stride - before, 0)
        op.attrs.update(
            {
                "kernel": [kernel, kernel], "stride": [layer.stride] * 2, "dilation": [1, 1], "group": 1,
                "pad": [before, after, before, after], "pad_mode": "FLOOR", "bias_term": True,
                "in_dim": channels, "out_dim": out_channels, "nonlinear": "RELU" if layer.relu else "NONE",
                "hsigmoid_in": -128, "shift_hsigmoid": -128, "shift_hswish": -128,
            }
        )  # fmt: skip
        augmented = channels < CHANNEL_PARALLEL
        if augmented:
            op.attrs["channel_augmentation"] = 1
        depth = _filled(channels * kernel) * kernel if augmented else _filled(channels) * kernel**2
        pixels = layer.shape[0] * layer.shape[1]
        set_workload(
            op.attrs, pixels * out_channels * (2 * fan_in + 1), pixels * _filled(out_channels) * (2 * depth + 1)
        )
        constants = self._weights(op.name, layer, (out_channels, kernel, kernel, channels))
        op.args |= {"weights": [constants[0].name], "bias": [constants[1].name]}
        return constants

    def _weights(self, name: str, layer: Layer, shape: tuple[int, int, int, int]) -> list[Op]:
        """Weights (OHWI) and bias of a convolution: its rows of those that it may share with another."""
        fan_in = shape[1] * shape[2] * shape[3]
        peak, fix_point = weight_scale(fan_in)
        first, end = layer.rows
        all_rows = self._rows_of(layer)
        weights = draw(f"{layer.weights}.weight", all_rows * fan_in, peak)[first * fan_in : end * fan_in]
        bias = draw(f"{layer.weights}.bias", all_rows, BIAS_PEAK)[first:end]
        return [
            self._constant(f"{name}_weight", shape, weights, fix_point),
            self._constant(f"{name}_bias", (end - first,), bias, BIAS_FIX_POINT),
        ]

    def _rows_of(self, layer: Layer) -> int:
        """Output channels of the weights that this layer and others may share."""
        return max(other.rows[1] for other in self._layers.values() if other.weights == layer.weights)

    def _constant(self, name: str, shape: tuple[int, ...], values: Int8, fix_point: int) -> Op:
        tensor = fixed(f"{name}_fix", shape, fix_point, reg_id=0, location=1, ddr_addr=len(self._constants))
        self._constants += values.tobytes()
        attrs = {"device": "DPU", "data_type": "XINT8", "shape": list(shape), "data": b""}
        return Op(name, "const-fix", tensor, {}, Attributes(attrs))

    def _finish(self) -> None:
        attrs = self.subgraph.attrs
        attrs.update(
            {
                "device": "DPU", "dpu_name": TARGET, "runner": RUNNERS, "debug_mode": "function", "if_prefetch": False,
                "mc_code": b"", "mc_code_preload": b"",
                "reg_id_to_context_type": {"REG_0": "CONST", "REG_1": "DATA", "REG_2": "DATA", "REG_3": "DATA"},
                "reg_id_to_context_type_v2": {
                    "REG_0": "CONST", "REG_1": "WORKSPACE", "REG_2": "INTERFACE", "REG_3": "INTERFACE",
                },
                "reg_id_to_hw_segment": {"REG_0": "W0", "REG_1": "D0", "REG_2": "D0", "REG_3": "D0"},
                "reg_id_to_size": {
                    "REG_0": len(self._constants), "REG_1": self._layout.workspace.size_bytes,
                    "REG_2": self._inputs.size_bytes, "REG_3": self._layout.outputs.size_bytes,
                },
                "reg_id_to_parameter_value": {"REG_0": bytes(self._constants)},
                "children_topological_sort": [
                    child.name for child in self.subgraph.children if not child.name.endswith("load_0")
                ],
            }
        )  # fmt: skip
        attrs.set("dpu_fingerprint", FINGERPRINT, "uint64")
        add_workloads(attrs, [child.attrs for child in self.subgraph.children])


def _pooling(kernel: int) -> dict[str, str | list[int]]:
    return {"type": "MAX", "kernel": [kernel] * 2, "stride": [1, 1], "pad": [kernel // 2] * 4}


def _filled(channels: int) -> int:
    return -(-channels // CHANNEL_PARALLEL) * CHANNEL_PARALLEL
