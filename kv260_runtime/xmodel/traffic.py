"""DDR traffic of one execution of a DPU subgraph, read from its instructions or estimated from its tensors."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from kv260_runtime.xmodel.errors import XModelError
from kv260_runtime.xmodel.estimate import estimate_traffic
from kv260_runtime.xmodel.graph import Graph, Subgraph
from kv260_runtime.xmodel.instructions import SAVE_REGISTERS, transferred_bytes

DECODED_TARGET = "DPUCZDX8G_ISA1"
CONTEXTS = ("CONST", "INTERFACE", "WORKSPACE")


@dataclass(frozen=True)
class Traffic:
    """Bytes of one execution, by what lies behind the register: constants, inputs and outputs, or workspace."""

    load_const_bytes: int
    load_interface_bytes: int
    load_workspace_bytes: int
    save_workspace_bytes: int
    save_interface_bytes: int
    instruction_bytes: int
    """Size of the program, fetched once an execution; 0 in a file without instructions."""
    estimated: bool
    """True if the file's instructions could not be read and the figures come from tensor sizes."""

    @property
    def read_bytes(self) -> int:
        """What the DPU reads, its program included."""
        loads = self.load_const_bytes + self.load_interface_bytes + self.load_workspace_bytes
        return loads + self.instruction_bytes

    @property
    def write_bytes(self) -> int:
        """What the DPU writes."""
        return self.save_workspace_bytes + self.save_interface_bytes

    @property
    def total_bytes(self) -> int:
        """Reads and writes."""
        return self.read_bytes + self.write_bytes


def static_traffic(graph: Graph, subgraph: Subgraph) -> Traffic:
    """Traffic of one execution (xmodel_execution.md, Static DDR traffic).

    Exact for DPUCZDX8G_ISA1 with instructions; otherwise estimated. XModelError on a broken program.
    """
    target = subgraph.attrs.expect("dpu_name", ("string",), "")
    code = subgraph.attrs.expect("mc_code", ("bytes",), b"")
    if not code or not target.startswith(DECODED_TARGET):
        return Traffic(**asdict(estimate_traffic(graph, subgraph)), instruction_bytes=len(code), estimated=True)
    place = f"subgraph {subgraph.name!r}, mc_code"
    try:
        transfers = transferred_bytes(code)
    except ValueError as error:
        raise XModelError(graph.source, place, str(error)) from error
    contexts = subgraph.attrs.expect("reg_id_to_context_type_v2", ("map_string",), {})
    sums = dict.fromkeys((f"{way} {kind}" for way in ("load", "save") for kind in CONTEXTS), 0)
    for index, size_bytes in enumerate(transfers):
        if size_bytes:
            way = "load" if index < SAVE_REGISTERS else "save"
            register = f"REG_{index % SAVE_REGISTERS}"
            context = contexts.get(register)
            key = f"{way} {context}"
            if key not in sums or key == "save CONST":
                raise XModelError(graph.source, place, f"{way}s by {register}, whose context is {context}")
            sums[key] += size_bytes
    return Traffic(
        load_const_bytes=sums["load CONST"],
        load_interface_bytes=sums["load INTERFACE"],
        load_workspace_bytes=sums["load WORKSPACE"],
        save_workspace_bytes=sums["save WORKSPACE"],
        save_interface_bytes=sums["save INTERFACE"],
        instruction_bytes=len(code),
        estimated=False,
    )
