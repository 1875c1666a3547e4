"""Live samples of a board: from a recorder of our own, and from the service that owns its sensors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kv260_runtime.top.samples import LiveSamples, RecorderSamples, ServiceSamples, open_samples
from kv260_runtime.top.view import view
from telemetry.boards import load_board
from telemetry.clock import SystemClock
from telemetry.errors import TelemetryError
from tests.integration.daemon_harness import running
from virtual_board.launch import VirtualBoard, open_board
from virtual_board.models import write_demo_models

KV260 = load_board("kv260")


@pytest.fixture(scope="module")
def board() -> Iterator[VirtualBoard]:
    with open_board({"seed": "4"}) as opened:
        yield opened


def watch(samples: LiveSamples, seconds: float) -> None:
    samples.take(SystemClock.now_ns() + round(seconds * 1e9))


def test_without_a_service_top_samples_by_itself(board: VirtualBoard) -> None:
    samples = open_samples(board, KV260, SystemClock())
    try:
        watch(samples, 2.0)
        found = view(samples.histories, samples.missing)
    finally:
        samples.close()
    assert isinstance(samples, RecorderSamples)
    assert found.watts["som"] == pytest.approx(4.83, abs=0.1)
    assert found.bytes_per_second["read.slot1"] == pytest.approx(400_000, rel=0.05)


def test_beside_a_service_top_asks_it_and_says_when_it_ends(board: VirtualBoard) -> None:
    with running(board.root) as daemon:
        samples = open_samples(board, KV260, SystemClock())
        assert isinstance(samples, ServiceSamples)
        watch(samples, 2.5)
        found = view(samples.histories, samples.missing)
        daemon.end()
        with pytest.raises(TelemetryError, match="closed the connection"):
            watch(samples, 10.0)
        samples.close()
    assert samples.manner == f"kv260-telemetry, process {daemon.process.pid}"
    assert found.watts["som"] == pytest.approx(4.83, abs=0.1)
    assert found.sampler["power.som"].hertz == pytest.approx(100, rel=0.1)


def test_a_command_is_watched_to_its_end(tmp_path) -> None:
    model = write_demo_models(tmp_path)[1]
    top = [sys.executable, "-m", "kv260_runtime.cli.main", "top", "--board", "virtual", "--json", "--interval", "0.5"]
    benchmark = ["--", "env", "SLEEP_MS=3000", "xdputil", "benchmark", str(model), "-i", "-1", "1"]
    done = subprocess.run([*top, *benchmark], capture_output=True, text=True, timeout=60)
    views = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert max(one["busy"].get("DPUCZDX8G_1", 0) for one in views) == pytest.approx(0.91, abs=0.05)
    assert max(one["watts"].get("som", 0) for one in views) == pytest.approx(8.73, abs=0.3)


def test_one_picture_is_printed_for_scripts() -> None:
    words = ["top", "--board", "virtual", "--once"]
    done = subprocess.run(
        [sys.executable, "-m", "kv260_runtime.cli.main", *words], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "virtual KV260 - own recorder" in done.stdout
    assert "cpu0" in done.stdout
    assert "\x1b" not in done.stdout
