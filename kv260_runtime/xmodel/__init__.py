"""Reads and writes compiled networks (XModels) without the vendor's libraries."""

from kv260_runtime.xmodel.attributes import Attributes
from kv260_runtime.xmodel.errors import XModelError
from kv260_runtime.xmodel.graph import ArgDef, AttrDef, Graph, Op, OpDef, Subgraph, Tensor
from kv260_runtime.xmodel.reader import parse_xmodel, read_xmodel
from kv260_runtime.xmodel.target import describe_rejection, require_target
from kv260_runtime.xmodel.traffic import Traffic, static_traffic
from kv260_runtime.xmodel.writer import encode_xmodel, write_xmodel

__all__ = [
    "ArgDef",
    "AttrDef",
    "Attributes",
    "Graph",
    "Op",
    "OpDef",
    "Subgraph",
    "Tensor",
    "Traffic",
    "XModelError",
    "describe_rejection",
    "encode_xmodel",
    "parse_xmodel",
    "read_xmodel",
    "require_target",
    "static_traffic",
    "write_xmodel",
]
