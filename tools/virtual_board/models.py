"""The two demo models: one network as a fragmented and as a consolidated XModel (c2fdeploy.txt, Table 5)."""

from __future__ import annotations

from pathlib import Path

from kv260_runtime.xmodel import Graph, write_xmodel
from virtual_board.models_compile import compile_detector
from virtual_board.models_network import Detector

INPUT_SIZE = 512
FRAGMENTED, CONSOLIDATED = f"c2f_fragmented_{INPUT_SIZE}.xmodel", f"c2f_consolidated_{INPUT_SIZE}.xmodel"


def write_demo_models(folder: Path) -> tuple[Path, Path]:
    """Write both models into a folder that exists; (fragmented, consolidated). The same bytes every time."""
    fragmented, consolidated = folder / FRAGMENTED, folder / CONSOLIDATED
    write_xmodel(demo_graph(split_offline=False), fragmented)
    write_xmodel(demo_graph(split_offline=True), consolidated)
    return fragmented, consolidated


def demo_graph(split_offline: bool, size: int = INPUT_SIZE) -> Graph:
    """One of the two graphs; `size` is the edge of the square input, a multiple of 32."""
    return compile_detector(Detector(size, split_offline))
