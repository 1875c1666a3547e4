"""What a file was compiled for, and why a KV260's DPU cannot run one that was not compiled for it."""

from __future__ import annotations

from kv260_runtime.xmodel.errors import XModelError
from kv260_runtime.xmodel.graph import Graph

DPU = "DPUCZDX8G"

FAMILIES = {
    "DPUCVDX8G": "Versal AI Core (VCK190)",
    "DPUCV2DX8G": "Versal AI Edge, Alveo V70",
    "DPUCAHX8H": "Alveo U50, U55C, U280",
    "DPUCAHX8L": "Alveo U50, U280, low latency",
    "DPUCADF8H": "Alveo U200, U250",
    "DPUCADX8G": "Alveo U200, U250",
    "AMD_AIE2": "Ryzen AI",
}
"""Beginning of `dpu_name` to where such a DPU is found."""

SIZES = {0x00: "B512", 0x02: "B1024", 0x04: "B1600", 0x05: "B2304", 0x06: "B3136", 0x07: "B4096"}
"""Low byte of a DPUCZDX8G fingerprint (xmodel_execution.md, The file)."""


def describe_rejection(graph: Graph) -> str | None:
    """Why a DPUCZDX8G cannot run this graph, in one line without the file's name; None if it can.

    The size of the DPU and its version are not judged: which are right depends on what the board has loaded.
    """
    if not graph.is_compiled:
        if _is_for_rnn_overlay(graph):
            return f"is a network for the RNN overlay of Alveo boards, not for a {DPU}"
        return f"is not compiled for any DPU (no subgraph names a device): compile it with vai_c_xir for {DPU}"
    targets = [
        target
        for subgraph in graph.on_device("DPU")
        if (target := subgraph.attrs.expect("dpu_name", ("string",))) is not None
    ]
    if not targets:
        return f"has no DPU subgraph that names its target: nothing in it runs on a {DPU}"
    for target in targets:
        if not target.startswith(f"{DPU}_"):
            where = next((place for name, place in FAMILIES.items() if target.startswith(name)), None)
            place = f" ({where})" if where else ""
            return f"is compiled for {target}{place}: compile it for {DPU}"
    return None


def require_target(graph: Graph) -> None:
    """Raise XModelError, with what the file is, unless a DPUCZDX8G can run it."""
    reason = describe_rejection(graph)
    if reason is not None:
        raise XModelError(graph.source, "", reason)


def dpu_size(fingerprint: int) -> str | None:
    """The DPU's size that a DPUCZDX8G fingerprint stands for, e.g. `B4096`."""
    return SIZES.get(fingerprint & 0xFF)


def _is_for_rnn_overlay(graph: Graph) -> bool:
    runner = graph.root.attrs.expect("runner", ("map_string",), {})
    return "model_type" in graph.root.attrs or any("rnn" in library for library in runner.values())
