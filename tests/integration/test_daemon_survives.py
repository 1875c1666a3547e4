"""Faults of a board under a running service: it goes on, tells what is missing, and no counter falls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kv260_runtime.xmodel import write_xmodel
from telemetry.clock import SystemClock
from tests.integration.daemon_harness import Daemon, running
from virtual_board.launch import open_board
from virtual_board.models import demo_graph

MS = 1_000_000
POWER = 'kv_energy_joules_total{rail="som"}'
SAMPLES = 'kv_sampler_samples_total{sampler="power.som"}'

LOOP = """
import sys, time
import numpy as np, xir, vitis_ai_library
graph = xir.Graph.deserialize(sys.argv[1])
runner = vitis_ai_library.GraphRunner.create_graph_runner(graph)
inputs, outputs = runner.get_inputs(), runner.get_outputs()
np.asarray(inputs[0])[...] = 1
end = time.monotonic() + 3.2
while time.monotonic() < end:
    runner.wait(runner.execute_async(inputs, outputs))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "demo.xmodel"
    write_xmodel(demo_graph(split_offline=True, size=64), path)
    segments = [{"kind": "dpu", "duration_ns": 18 * MS, "moved_bytes": {"read.slot3": 10_000_000}}]
    timing = {"overhead_ns": 2 * MS, "segments": segments}
    (tmp_path / "timing.json").write_text(json.dumps({path.name: timing}))
    return path


def watched(daemon: Daemon, seconds: float) -> list[Mapping[str, float]]:
    """Scrapes over a time, in which no counter falls and no figure is negative."""
    until_ns = SystemClock.now_ns() + int(seconds * 1e9)
    found = [daemon.metrics()]
    while SystemClock.now_ns() < until_ns:
        SystemClock.sleep_until_ns(SystemClock.now_ns() + 100 * MS)
        found.append(daemon.metrics())
        for name, value in found[-1].items():
            assert value >= 0, name
            if "_total" in name:
                assert value >= found[-2].get(name, 0.0), name
    return found


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("sensor-vanishes", "vanished"),
        ("ebusy-storm", "busy (EBUSY)"),
        ("hwmon-renumbered", None),
        ("firmware-reload", None),
        ("wall-clock-step", None),
        ("counter-wrap", None),
    ],
)
def test_it_goes_on(fault: str, reason: str | None, model: Path, tmp_path: Path) -> None:
    at = "" if fault == "counter-wrap" else "@1+0.5"
    options = {"fault": f"{fault}{at}", "seed": "9", "timing": str(tmp_path / "timing.json")}
    with open_board(options) as board:
        words = ("--files", board.files) if board.files else ()
        with running(board.root, *words) as daemon:
            environment = {**os.environ, **board.environment}
            loop = subprocess.Popen(
                [sys.executable, "-c", LOOP, str(model)], env=environment, stderr=subprocess.DEVNULL
            )
            scrapes = watched(daemon, 3.8)
            loop.wait()
            recorder = daemon.recorder()
            first, last = scrapes[0], scrapes[-1]
            assert last[POWER] > first[POWER]
            assert last[SAMPLES] > first[SAMPLES] + 100
            assert last['kv_sensor_up{sensor="power.som"}'] == 1.0
            assert all(one.get('kv_power_watts{rail="som"}', 1.0) > 1.0 for one in scrapes)
            read = 'kv_memory_bytes_total{controller="ddr",direction="read",slot="slot3"}'
            assert 1e8 < last[read] - first[read] < 4e9, "a wrap or reset adds no phantom bytes"
            if reason is not None:
                counted = last[f'kv_sampler_gaps_total{{reason="{reason}",sampler="power.som"}}']
                assert counted == pytest.approx(190, abs=40), "2 s at 100 Hz; of a storm one read in ten is answered"
            assert daemon.process.poll() is None
            assert daemon.recorder() == recorder
