"""`vart` for processes that run models on the virtual board."""

from virtual_board.buffers import TensorBuffer
from virtual_board.client import announce
from virtual_board.runners import Runner, RunnerExt

__all__ = ["Runner", "RunnerExt", "TensorBuffer"]

announce()
