"""The smallest compiled XModel that all of kvbench accepts: one input, one convolution on the DPU, one CPU operator."""

from __future__ import annotations

from kv260_runtime.xmodel import Graph, Op, Subgraph, Tensor
from kv260_runtime.xmodel.attributes import Attributes

SHAPE = (1, 8, 8, 4)


def tensor(name, dtype="xint8"):
    attrs = {"fix_point": 4, "bit_width": 8, "if_signed": True, "round_mode": "DPU_ROUND"} if dtype == "xint8" else {}
    return Tensor(name, SHAPE, dtype, Attributes(attrs))


def small_compiled_graph() -> Graph:
    """A graph of three operators on USER, DPU and CPU."""
    ops = [
        Op("in", "data-fix", tensor("in")),
        Op("up", "upload", tensor("up"), {"input": ["in"]}),
        Op("down", "download", tensor("down"), {"input": ["up"]}),
        Op("out", "fix2float", tensor("out", "float32"), {"input": ["down"]}),
    ]
    dpu = {"device": "DPU", "dpu_name": "DPUCZDX8G_ISA1_B4096", "dpu_fingerprint": 0x101000056010407, "workload": 10**9}
    children = [
        Subgraph("user", ["in"], Attributes({"device": "USER"})),
        Subgraph("dpu", ["up", "down"], Attributes(dpu)),
        Subgraph("cpu", ["out"], Attributes({"device": "CPU"})),
    ]
    return Graph("small", ops, Subgraph("root", [], Attributes(), children))
