"""Opening ONNX Runtime sessions, all with the same options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import onnxruntime as ort

from kv260_runtime.execute.specs import Array

LOG_FATAL_ONLY = 4


class Session(Protocol):
    """What is used of onnxruntime.InferenceSession."""

    def run(self, output_names: None, input_feed: Mapping[str, Array]) -> list[Array]:
        """All outputs, in order."""
        ...


def open_session(model: bytes, threads: int) -> Session:
    """A session on the CPU with all optimisations.

    Memory patterns are off: they would plan one block for all tensors beside the arena that reuses them already, which
    costs 10 MB more for a YOLOv5n and gains nothing.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.enable_mem_pattern = False
    options.log_severity_level = LOG_FATAL_ONLY
    session: Session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session
