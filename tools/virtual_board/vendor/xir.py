"""`xir` for processes that run models on the virtual board."""

from virtual_board.client import announce
from virtual_board.xir_api import Graph, Op, Subgraph, Tensor

__all__ = ["Graph", "Op", "Subgraph", "Tensor"]

announce()
