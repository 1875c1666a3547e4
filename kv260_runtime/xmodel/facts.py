"""What a deployer wants to know of an XModel, as plain values computed from its graph."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kv260_runtime.xmodel.attributes import INTEGERS, Attributes
from kv260_runtime.xmodel.graph import Graph, Op, Subgraph, Tensor
from kv260_runtime.xmodel.operators import CONSTANTS, SOURCES
from kv260_runtime.xmodel.target import DPU, describe_rejection
from kv260_runtime.xmodel.traffic import Traffic, static_traffic

DEFAULT_CLOCK_HZ = 300e6
DDR_BYTES_PER_SECOND = 19.2e9
"""Peak of a KV260's memory, DDR4-2400 of 64 bits."""

CONVOLUTIONS = frozenset({"conv2d-fix", "transposed-conv2d-fix"})


@dataclass(frozen=True)
class TensorFacts:
    """A tensor at the edge of a model or subgraph."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    fix_point: int | None

    @property
    def scale(self) -> float | None:
        """Real value of one integer step, 2 ** -fix_point; None for a float tensor."""
        return None if self.fix_point is None else math.ldexp(1.0, -self.fix_point)


@dataclass(frozen=True)
class MemoryFacts:
    """Bytes that one DPU subgraph needs in the board's contiguous memory."""

    weights_bytes: int
    workspace_bytes: int
    interface_bytes: int
    instruction_bytes: int


@dataclass(frozen=True)
class TimeBound:
    """What a DPU cannot be faster than in one execution."""

    compute_seconds: float
    """Convolutions alone at the array's full rate, channels filled up to its parallelism."""
    memory_seconds: float
    """All DDR traffic at the memory's peak rate."""

    @property
    def seconds(self) -> float:
        """The larger of the two: computing and moving may overlap."""
        return max(self.compute_seconds, self.memory_seconds)


@dataclass(frozen=True)
class SubgraphFacts:
    """One top-level subgraph."""

    index: int
    name: str
    device: str | None
    operator_counts: dict[str, int]
    workload_ops: int | None
    """Operations of one execution, two per multiply-accumulate."""
    superlayers: int
    inputs: list[TensorFacts]
    outputs: list[TensorFacts]
    memory: MemoryFacts | None
    """None off the DPU, as are traffic and bound; those two also for another DPU than DPUCZDX8G."""
    traffic: Traffic | None
    bound: TimeBound | None


@dataclass(frozen=True)
class Table5:
    """Counts of c2fdeploy.txt, Table 5: subgraphs and operations are different things."""

    subgraphs: int
    subgraphs_by_device: dict[str, int]
    cpu_operations: dict[str, int]
    """CPU-assigned operations by type."""

    @property
    def total_cpu_operations(self) -> int:
        """All operations assigned to the CPU."""
        return sum(self.cpu_operations.values())


@dataclass(frozen=True)
class ModelFacts:
    """One file."""

    source: str
    name: str
    form: str
    """`compiled`, `quantised` (fixed point, no devices) or `float`."""
    target: str | None
    fingerprint: int | None
    rejection: str | None
    """Why a DPUCZDX8G cannot run it; None if it can."""
    compiler: str | None
    libraries: dict[str, str]
    """Library with version, and the commit it was built from."""
    inputs: list[TensorFacts]
    outputs: list[TensorFacts]
    operator_counts: dict[str, int]
    operator_counts_by_device: dict[str, dict[str, int]]
    constant_bytes: int
    """Constants by the shapes of their tensors."""
    subgraphs: list[SubgraphFacts]
    clock_hz: float
    """DPU clock that the bounds assume."""
    table5: Table5 = field(repr=False)

    def on_device(self, device: str) -> list[SubgraphFacts]:
        """Top-level subgraphs of a device."""
        return [subgraph for subgraph in self.subgraphs if subgraph.device == device]


def model_facts(graph: Graph, clock_hz: float = DEFAULT_CLOCK_HZ) -> ModelFacts:
    """Compute all facts; XModelError where the file contradicts itself (a broken program, an attribute of odd kind)."""
    subgraphs = [_subgraph_facts(graph, index, part, clock_hz) for index, part in enumerate(graph.subgraphs)]
    libraries: Mapping[str, str] = graph.attrs.expect("libs_info", ("map_string",), {})
    read = {name for op in graph.ops for name in op.producers()}
    by_device: dict[str, Counter[str]] = {}
    for part in subgraphs:
        by_device.setdefault(part.device or "none", Counter()).update(part.operator_counts)
    counts = _counts(graph.ops)
    return ModelFacts(
        source=graph.source,
        name=graph.name,
        form=_form(graph, counts),
        target=graph.target,
        fingerprint=graph.fingerprint,
        rejection=describe_rejection(graph),
        compiler=_compiler(libraries),
        libraries=dict(sorted(libraries.items())),
        inputs=[_tensor_facts(op.tensor) for op in graph.ops if op.type in SOURCES],
        outputs=[_tensor_facts(op.tensor) for op in graph.ops if op.name not in read and op.type not in CONSTANTS],
        operator_counts=counts,
        operator_counts_by_device={device: dict(counter) for device, counter in by_device.items()},
        constant_bytes=sum(op.tensor.size_bytes for op in graph.ops if op.type in CONSTANTS),
        subgraphs=subgraphs,
        clock_hz=clock_hz,
        table5=Table5(
            subgraphs=len(subgraphs),
            subgraphs_by_device=dict(Counter(part.device or "none" for part in subgraphs)),
            cpu_operations=dict(by_device.get("CPU", {})),
        ),
    )


def _counts(ops: Iterable[Op]) -> dict[str, int]:
    return dict(Counter(op.type for op in ops).most_common())


def _form(graph: Graph, counts: Mapping[str, int]) -> str:
    if graph.is_compiled:
        return "compiled"
    return "quantised" if any(kind == "fix" or kind.endswith("-fix") for kind in counts) else "float"


def _compiler(libraries: Mapping[str, str]) -> str | None:
    """`xcompiler 3.0.0` from the keys of libs_info, `xcompiler.3.0.0` and `xcompiler.3.0.0 : xir.3.0.0`."""
    for key in libraries:
        match = re.fullmatch(r"(\w+)\.(\d[\w.-]*)", key.partition(" : ")[0])
        if match:
            return f"{match[1]} {match[2]}"
    return None


def _tensor_facts(tensor: Tensor) -> TensorFacts:
    return TensorFacts(tensor.name, tensor.shape, tensor.dtype, tensor.fix_point)


def _subgraph_facts(graph: Graph, index: int, subgraph: Subgraph, clock_hz: float) -> SubgraphFacts:
    ops = graph.ops_of(subgraph)
    is_dpu = subgraph.device == "DPU"
    target: str = subgraph.attrs.expect("dpu_name", ("string",), "")
    traffic = static_traffic(graph, subgraph) if is_dpu and target.startswith(DPU) else None
    return SubgraphFacts(
        index=index,
        name=subgraph.name,
        device=subgraph.device,
        operator_counts=_counts(ops),
        workload_ops=subgraph.workload,
        superlayers=len(subgraph.children),
        inputs=[_tensor_facts(tensor) for tensor in graph.input_tensors(subgraph)],
        outputs=[_tensor_facts(tensor) for tensor in graph.output_tensors(subgraph)],
        memory=_memory(subgraph.attrs) if is_dpu else None,
        traffic=traffic,
        bound=_bound(target, ops, traffic, clock_hz) if traffic else None,
    )


def _memory(attrs: Attributes) -> MemoryFacts:
    """Register sizes by context; files without the second version of the contexts call all activations DATA."""
    sizes: Mapping[str, int] = attrs.expect("reg_id_to_size", ("map_int32", "map_int64", "map_uint32"), {})
    contexts: Mapping[str, str] = attrs.expect("reg_id_to_context_type_v2", ("map_string",)) or attrs.expect(
        "reg_id_to_context_type", ("map_string",), {}
    )
    by_context: Counter[str] = Counter()
    for register, size_bytes in sizes.items():
        by_context[contexts.get(register, "")] += size_bytes
    programs = (attrs.expect(key, ("bytes",), b"") for key in ("mc_code", "mc_code_preload"))
    return MemoryFacts(
        weights_bytes=by_context["CONST"],
        workspace_bytes=by_context["WORKSPACE"] + by_context["DATA"],
        interface_bytes=by_context["INTERFACE"],
        instruction_bytes=sum(len(program) for program in programs),
    )


def peak_ops_per_cycle(target: str) -> int | None:
    """Operations of a DPUCZDX8G in one cycle, the number in its size: 4096 for `DPUCZDX8G_ISA1_B4096`."""
    match = re.search(r"_B(\d{3,4})(?:_|$)", target)
    return int(match[1]) if match else None


def _bound(target: str, ops: Iterable[Op], traffic: Traffic, clock_hz: float) -> TimeBound | None:
    peak = peak_ops_per_cycle(target)
    if not peak:
        return None
    work = sum(_multiply_accumulate_ops(op) for op in ops if op.type in CONVOLUTIONS)
    return TimeBound(work / (peak * clock_hz), traffic.total_bytes / DDR_BYTES_PER_SECOND)


def _multiply_accumulate_ops(op: Op) -> float:
    """Work of the array in a convolution, without the bias additions that the compiler counts too (one an output)."""
    workload: int = op.attrs.expect("workload", INTEGERS, 0)
    on_arch: int = op.attrs.expect("workload_on_arch", INTEGERS, workload)
    if workload <= 0 or "bias" not in op.args:
        return on_arch
    return on_arch * max(workload - op.tensor.element_count, 0) / workload
