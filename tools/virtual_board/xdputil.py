"""The vendor's `xdputil` as far as measurements need it: benchmark, query, status, xmodel -l (board facts, 4)."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from virtual_board import clock, glog
from virtual_board.client import Connection, announce
from virtual_board.players import Player, graph_player, subgraph_player
from virtual_board.xir_api import Graph, Subgraph

SOURCE = "performance_test.hpp"
STEPS = 10
ARCHITECTURE = "DPUCZDX8G_ISA1_B4096"
KERNEL = {
    "DPU Arch": ARCHITECTURE,
    "DPU Frequency (MHz)": 300,
    "IP Type": "DPU",
    "Load Parallel": 2,
    "Load augmentation": "enable",
    "Load minus mean": "disable",
    "Save Parallel": 2,
    "XRT Frequency (MHz)": 300,
    "cu_addr": "0xa0010000",
    "cu_handle": "0xaaaaf0c1c9e0",
    "cu_idx": 0,
    "cu_mask": 1,
    "cu_name": "DPUCZDX8G:DPUCZDX8G_1",
    "device_id": 0,
    "name": "DPU Core 0",
}
AP_STATUS = {0x1: "start", 0x2: "done", 0x4: "idle", 0x8: "ready"}
"""Looked up whole: a combination such as 0x6 reads as an empty string."""


@dataclass
class Worker:
    """One benchmark thread: executes from its release until told to stop."""

    player: Player
    frames: int = 0

    def run(self, released: threading.Event, stop: threading.Event) -> None:
        """Count what has been executed; a frame under way when the stop comes is finished and counted."""
        released.wait()
        while not stop.is_set():
            self.player.play()
            self.frames += 1


def benchmark(arguments: argparse.Namespace) -> int:
    """Threads that execute for SLEEP_MS; progress on standard error, the verdict on standard output."""
    if not Path(arguments.xmodel).is_file():
        print(f"{arguments.xmodel} does not exist")
        return 0
    graph = Graph.deserialize(arguments.xmodel)
    workers = [Worker(_player(graph, arguments.i)) for _ in range(arguments.threads)]
    faults = workers[0].player.welcome["faults"]
    glog.log("I", "test_dpu_runner_mt.cpp:474", "shuffle results for batch...")
    for worker in workers:
        for _ in range(int(os.environ.get("NUM_OF_REF", "4"))):
            worker.player.play()
    _measure(workers, int(os.environ.get("SLEEP_MS", "60000")), "missing-100-marker" not in faults)
    print("Test Failed!!!" if "test-failed" in faults else "Test PASS.", flush=True)
    return 0  # Also after a failed test, as the vendor's main() does.


def _measure(workers: Sequence[Worker], sleep_ms: int, last_marker: bool) -> None:
    released, stop = threading.Event(), threading.Event()
    threads = [threading.Thread(target=worker.run, args=(released, stop)) for worker in workers]
    for thread in threads:
        thread.start()
    start_ns = clock.now_ns()
    released.set()
    glog.log("I", f"{SOURCE}:73", "0% ...")
    for step in range(1, STEPS + 1):
        clock.sleep_until_ns(start_ns + step * sleep_ms * 1_000_000 // STEPS)
        if step < STEPS or last_marker:
            glog.log("I", f"{SOURCE}:76", f"{step * 100 // STEPS}% ...")
    glog.log("I", f"{SOURCE}:79", "stop and waiting for all threads terminated....")
    stop_ns = clock.now_ns()
    stop.set()
    for number, (worker, thread) in enumerate(zip(workers, threads, strict=True)):
        thread.join()
        glog.log("I", f"{SOURCE}:85", f"thread-{number} processes {worker.frames} frames")
    end_ns = clock.now_ns()
    frames, seconds = sum(worker.frames for worker in workers), (end_ns - start_ns) * 1e-9
    glog.log("I", f"{SOURCE}:93", f"it takes {(end_ns - stop_ns) // 1000} us for shutdown")
    # C++ streams print floats with six significant digits.
    glog.log(
        "I", f"{SOURCE}:94", f"FPS= {frames / seconds:.6g} number_of_frames= {frames:.6g} time= {seconds:.6g} seconds."
    )
    glog.log("I", f"{SOURCE}:96", "BYEBYE")


def _player(graph: Graph, index: int) -> Player:
    """The subgraph of that index; the whole graph for -1 or an index out of range."""
    children = graph.get_root_subgraph().toposort_child_subgraph()
    if not 0 <= index < len(children):
        return graph_player(graph, "xdputil")
    return subgraph_player(children[index], "xdputil")


def query(_arguments: argparse.Namespace) -> int:
    """What is loaded."""
    fingerprint = Connection("query").welcome["fingerprint"]
    _print_json(
        {
            "DPU IP Spec": {"DPU Core Count": 1, "IP version": "v4.1.0", "regmap": "1to1 version"},
            "VAI Version": {"libvart-runner.so": "virtual_board (emulated)", "libxir.so": "virtual_board (emulated)"},
            "kernels": [{**KERNEL, "fingerprint": f"{fingerprint:#x}"}],
        }
    )
    return 0


def status(_arguments: argparse.Namespace) -> int:
    """Registers; the real command reads the control register, which is destructive while something runs."""
    word = Connection("query").welcome["status"]
    common = {"AP status": AP_STATUS.get(word, "")}
    _print_json({"kernels": [{"common_registers": common, "name": "DPU Registers Core 0"}]})
    return 0


def xmodel(arguments: argparse.Namespace) -> int:
    """Subgraphs of a file."""
    if not arguments.list:
        print("virtual_board: of `xdputil xmodel` only -l is emulated", file=sys.stderr)
        return 1
    children = Graph.deserialize(arguments.xmodel).get_root_subgraph().toposort_child_subgraph()
    _print_json({"subgraphs": [_described(index, child) for index, child in enumerate(children)]})
    return 0


def _described(index: int, subgraph: Subgraph) -> dict[str, Any]:
    model = subgraph.model
    described: dict[str, Any] = {"index": index, "name": model.name, "device": model.device}
    if model.device != "DPU":
        return described
    described["fingerprint"] = f"{subgraph.get_attr('dpu_fingerprint'):#x}"
    described["DPU Arch"] = subgraph.get_attr("dpu_name")
    described["workload"] = model.workload
    for key, tensors in (
        ("input_tensor", subgraph.get_input_tensors()),
        ("output_tensor", subgraph.get_output_tensors()),
    ):
        ordered = sorted(tensors, key=lambda tensor: tensor.name)
        described[key] = [
            {"index": number, "name": tensor.name, "shape": tensor.dims, "fixpos": tensor.get_attr("fix_point")}
            for number, tensor in enumerate(ordered)
        ]
    return described


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, sort_keys=True, indent=4, separators=(",", ":")))


def parser() -> argparse.ArgumentParser:
    """The command line; a wrong one ends with exit code 2."""
    top = argparse.ArgumentParser(prog="xdputil")
    commands = top.add_subparsers(required=True)
    bench = commands.add_parser("benchmark")
    bench.add_argument("xmodel")
    bench.add_argument("-i", type=int, default=1, help="subgraph index, -1 for the whole graph")
    bench.add_argument("threads", type=int)
    bench.set_defaults(function=benchmark)
    for name, function in (("query", query), ("status", status)):
        commands.add_parser(name).set_defaults(function=function)
    inspect = commands.add_parser("xmodel")
    inspect.add_argument("xmodel")
    inspect.add_argument("-l", "--list", action="store_true")
    inspect.set_defaults(function=xmodel)
    return top


def main() -> int:
    """Run one command."""
    arguments = parser().parse_args()
    announce()
    result: int = arguments.function(arguments)
    return result


if __name__ == "__main__":
    sys.exit(main())
