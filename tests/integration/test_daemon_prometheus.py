"""A real Prometheus scrapes the service while a model runs: its counters gain what the event log calls true."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kv260_runtime.xmodel import write_xmodel
from telemetry.clock import SystemClock, wall_time_ns
from tests.integration.daemon_harness import running
from virtual_board.launch import VirtualBoard, open_board
from virtual_board.models import demo_graph
from virtual_board.truth import Truth, read_truth

MS = 1_000_000
SECONDS = 20
AVERAGING_NS = 8_800_000
"""A power reading stands for the time that much earlier (measurement_rules.md, The power sensor)."""

BUSY_POINTS = 0.002
ENERGY = 0.005
BYTES = 0.002

LOOP = """
import sys, time
import numpy as np, xir, vitis_ai_library
graph = xir.Graph.deserialize(sys.argv[1])
runner = vitis_ai_library.GraphRunner.create_graph_runner(graph)
inputs, outputs = runner.get_inputs(), runner.get_outputs()
np.asarray(inputs[0])[...] = 1
runner.wait(runner.execute_async(inputs, outputs))
print("executing", flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    runner.wait(runner.execute_async(inputs, outputs))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Prometheus:
    """A running server; `history` gives every sample it scraped."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, path: str, **query: str) -> Any:
        with urllib.request.urlopen(f"{self._url}{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def history(self) -> dict[str, dict[float, float]]:
        """Series in the exposition's notation to their values by time of scrape."""
        found = {}
        for one in self.ask("/api/v1/query", query='{job="board"}[10m]')["result"]:
            labels = {key: value for key, value in one["metric"].items() if key not in ("__name__", "instance", "job")}
            inner = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
            name = one["metric"]["__name__"] + (f"{{{inner}}}" if inner else "")
            found[name] = {float(at): float(value) for at, value in one["values"]}
        return found


@contextmanager
def scraping(url: str, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes `url` once a second, once it has done so."""
    port = free_port()
    target = url.removeprefix("http://")
    (folder / "prometheus.yml").write_text(
        "scrape_configs:\n  - job_name: board\n    scrape_interval: 1s\n"
        f"    static_configs: [{{targets: ['{target}']}}]\n"
    )
    command = [
        "prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=error",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            server = Prometheus(f"http://127.0.0.1:{port}")
            while not _has_scraped(server):
                assert process.poll() is None, process.stderr and process.stderr.read()
                SystemClock.sleep_until_ns(SystemClock.now_ns() + 100 * MS)
            yield server
        finally:
            process.terminate()


def _has_scraped(server: Prometheus) -> bool:
    try:
        return bool(server.ask("/api/v1/query", query="kv_energy_joules_total")["result"])
    except OSError:
        return False


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "demo.xmodel"
    write_xmodel(demo_graph(split_offline=True, size=64), path)
    return path


@pytest.fixture
def board(tmp_path: Path, model: Path) -> Iterator[VirtualBoard]:
    """Executions of 100 ms, 60 ms of them on the DPU, which moves 100 MB."""
    moved = {"read.slot3": 50_000_000, "read.slot4": 25_000_000, "write.slot4": 24_000_001, "read.slot1": 1_000_000}
    segments = [{"kind": "dpu", "duration_ns": 60 * MS, "moved_bytes": moved}]
    timing = tmp_path / "timing.json"
    timing.write_text(json.dumps({model.name: {"overhead_ns": 40 * MS, "segments": segments}}))
    options = {"log": str(tmp_path / "events.jsonl"), "timing": str(timing), "seed": "11"}
    with open_board(options) as opened:
        yield opened


Gained = Mapping[str, tuple[float, int, int]]


def gained(history: Mapping[str, Mapping[float, float]], since_ns: int, until_ns: int) -> Gained:
    """What each counter gained between the first and the last scrape of the span, and between which samples."""
    offset_ns = wall_time_ns() - SystemClock.now_ns()
    scrapes = sorted(history['kv_last_sample_timestamp_seconds{sampler="cu"}'])
    inside = [at for at in scrapes if since_ns < at * 1e9 - offset_ns < until_ns]
    first, last = inside[0], inside[-1]

    def sampled(sampler: str, at: float) -> int:
        stamp = history[f'kv_last_sample_timestamp_seconds{{sampler="{sampler}"}}'][at]
        return round(stamp * 1e9) - offset_ns

    samplers = {"kv_energy": "power.som", "kv_accelerator": "cu", "kv_memory": "apm", "kv_cpu": "cpu"}
    found = {}
    for name, values in history.items():
        for prefix, sampler in samplers.items():
            if name.startswith(prefix) and "_total" in name:
                assert all(before <= after for before, after in pairwise(values.values()))
                found[name] = values[last] - values[first], sampled(sampler, first), sampled(sampler, last)
    return found


@pytest.mark.bench
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed")
def test_counters_gain_what_is_true(board: VirtualBoard, model: Path, tmp_path: Path) -> None:
    environment = {**os.environ, **board.environment}
    words = [sys.executable, "-c", LOOP, str(model), str(SECONDS + 2)]
    with running(board.root) as daemon, scraping(daemon.url, tmp_path) as prometheus:
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as loop:
            assert loop.stdout is not None
            assert loop.stdout.readline() == b"executing\n"
            begin_ns = SystemClock.now_ns()
            SystemClock.sleep_until_ns(begin_ns + SECONDS * 1000 * MS)
        end_ns = begin_ns + SECONDS * 1000 * MS
        history = prometheus.history()
        assert "up{}" not in history and history["up"] and set(history["up"].values()) == {1.0}
        assert len(history) < 500
    board.close()
    check(gained(history, begin_ns + 500 * MS, end_ns), read_truth(tmp_path / "events.jsonl"))


def check(found: Gained, truth: Truth) -> None:
    busy, since, until = found['kv_accelerator_busy_seconds_total{accelerator="DPUCZDX8G_1"}']
    assert until - since > (SECONDS - 4) * 1000 * MS
    assert busy == pytest.approx(truth.busy_seconds(since, until), abs=BUSY_POINTS * (until - since) * 1e-9)

    joules, since, until = found['kv_energy_joules_total{rail="som"}']
    assert joules == pytest.approx(truth.joules(since - AVERAGING_NS, until - AVERAGING_NS), rel=ENERGY)

    moved = {name: one for name, one in found.items() if name.startswith("kv_memory_bytes_total")}
    assert len(moved) == 10
    _, since, until = next(iter(moved.values()))
    ports = truth.port_bytes(since, until)
    for column, true_bytes in ports.items():
        direction, slot = column.split(".")
        [name] = [one for one in moved if f'"{direction}"' in one and f'"{slot}"' in one]
        assert moved[name][0] == pytest.approx(true_bytes, rel=BYTES), column
    assert sum(one[0] for one in moved.values()) == pytest.approx(sum(ports.values()), rel=BYTES)

    cores = truth.cpu_seconds(*found['kv_cpu_seconds_total{core="cpu0",mode="busy"}'][1:])
    for number, core in enumerate(cores):
        busy = found[f'kv_cpu_seconds_total{{core="cpu{number}",mode="busy"}}'][0]
        assert busy == pytest.approx(sum(core.values()), abs=0.05)
