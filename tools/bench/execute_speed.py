"""Truth bench: the executor's time and memory against ONNX Runtime running the same layers in bare float32.

Usage: python -m tools.bench.execute_speed [MODEL] [--threads N] [--repeat N] [--write-baseline]

Both are warmed up and then run in turns within one process, so that a busy machine slows both; medians are compared.
Memory is the peak of a process that executes, less that of one that has only imported the same libraries.
Exit code 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from kv260_runtime.execute import Executor, open_executor
from kv260_runtime.xmodel import read_xmodel
from telemetry.clock import SystemClock

from .float_twin import FloatTwin

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT.parent / "shared" / "xmodels" / "yolov5n_640_b4096.xmodel"
BASELINE = Path(__file__).with_suffix(".json")
MOST_TIMES_FLOAT = 2.0
MOST_MEGABYTES = 120.0
WARM_UP = 3


def float_run(model: Path, threads: int) -> Callable[[], object]:
    """One run of the layers in float32, all optimisations on."""
    graph = read_xmodel(model)
    twin = FloatTwin(graph, graph.on_device("DPU")[0])
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(twin.serialize(), options, providers=["CPUExecutionProvider"])
    image = np.random.default_rng(1).random(twin.input_shape, np.float32)
    return lambda: session.run(None, {"image": image})


def fixed_run(model: Path, threads: int, backend: str) -> Callable[[], object]:
    """One execution of the DPU subgraph, bit for bit."""
    graph = read_xmodel(model)
    executor = open_executor(graph, graph.on_device("DPU")[0], backend, threads)
    inputs = random_inputs(executor)
    return lambda: executor.run(inputs)


def random_inputs(executor: Executor) -> dict[str, Any]:
    """int8 noise for every input."""
    random = np.random.default_rng(1)
    return {spec.name: random.integers(-128, 128, spec.shape).astype(spec.dtype) for spec in executor.inputs}


def milliseconds(runs: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Median time of each, taken in turns."""
    clock = SystemClock()
    taken: dict[str, list[int]] = {name: [] for name in runs}
    for turn in range(WARM_UP + repeat):
        for name, run in runs.items():
            start_ns = clock.now_ns()
            run()
            if turn >= WARM_UP:
                taken[name].append(clock.now_ns() - start_ns)
    return {name: statistics.median(times) / 1e6 for name, times in taken.items()}


def peak_kilobytes() -> int:
    """The largest resident size this process ever had."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


def peak_in_child(model: Path, threads: int, executions: int) -> int:
    """Peak of a fresh process with the same imports, after so many executions."""
    words = [str(model), "--threads", str(threads), "--peak-after", str(executions)]
    command = [sys.executable, "-m", "tools.bench.execute_speed", *words]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


def machine() -> dict[str, str]:
    """What the figures depend on."""
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "?:?")
    return {"cpu": cpu.partition(":")[2].strip(), "onnxruntime": ort.__version__, "python": platform.python_version()}


def main() -> int:
    """Measure and print; with --write-baseline keep the float32 figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path, default=MODEL)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--backend", default="onnxruntime", help="what executes; memory is always that of onnxruntime")
    parser.add_argument("--write-baseline", action="store_true", help=f"write {BASELINE.name}")
    parser.add_argument("--peak-after", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.model.is_file():
        print(f"{args.model}: absent; nothing is timed")
        return 0
    if args.peak_after is not None:
        if args.peak_after:
            run = fixed_run(args.model, args.threads, "onnxruntime")
            for _ in range(args.peak_after):
                run()
        print(peak_kilobytes())
        return 0
    if args.write_baseline:
        figures = milliseconds({"float32_ms": float_run(args.model, args.threads)}, args.repeat)
        record = {"model": args.model.name, "threads": args.threads, **machine(), **figures}
        BASELINE.write_text(json.dumps(record, indent=2) + "\n")
        print(json.dumps(record))
        return 0
    runs = {
        "float32_ms": float_run(args.model, args.threads),
        "executor_ms": fixed_run(args.model, args.threads, args.backend),
    }
    figures = milliseconds(runs, args.repeat)
    times_float = figures["executor_ms"] / figures["float32_ms"]
    above = peak_in_child(args.model, args.threads, 5) - peak_in_child(args.model, args.threads, 0)
    result = {**machine(), **figures, "times_float32": times_float, "peak_megabytes_above_imports": above / 1024}
    print(json.dumps({"model": args.model.name, "threads": args.threads, **result}, indent=2))
    return int(times_float > MOST_TIMES_FLOAT or above / 1024 > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
