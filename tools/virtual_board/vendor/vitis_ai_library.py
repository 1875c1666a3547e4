"""`vitis_ai_library` for processes that run models on the virtual board."""

from virtual_board.client import announce
from virtual_board.runners import GraphRunner

__all__ = ["GraphRunner"]

announce()
