"""What Prometheus is shown: names, units, labels; what is unknown is absent."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from telemetry.exporter import metrics_app
from telemetry.model import Gap
from telemetry.readers import READERS
from telemetry.service import web
from telemetry.service.ledger import Ledger
from telemetry.service.metrics import METRICS, OF_KIND, rows
from telemetry.service.snapshot import ServiceState, Snapshot
from tests.unit.daemon.frames import (
    ALL,
    APM,
    CPU,
    CU,
    FREQUENCY,
    GPU,
    MS,
    OBSERVER,
    POWER,
    RAPL,
    SECOND,
    TEMPERATURE,
    frame,
    series,
)

BEGIN = 50 * SECOND


def ledger_of_all() -> Ledger:
    """One second of every kind of stream."""
    ledger = Ledger(60 * SECOND)
    slow, tenth = BEGIN + SECOND * np.arange(2), BEGIN + 100 * MS * np.arange(11)
    hundredth = BEGIN + 10 * MS * np.arange(101)
    ledger.take(
        frame(
            BEGIN + SECOND,
            series(CU, BEGIN + MS * np.arange(1001), 1, 0, np.arange(1001) // 20, late_ns=50_000),
            series(POWER, hundredth, 5.0, gaps=(Gap(1, 2, "busy (EBUSY)", 3),)),
            series(APM, tenth, np.arange(11) * 10**8, np.arange(11) * 10**7, np.arange(11) * 26_600_000),
            series(CPU, slow, [1.0, 1.25], [10.0, 11.0]),
            series(RAPL, hundredth, np.arange(101) * 0.1 % 100),
            series(GPU, tenth, 0.5),
            series(TEMPERATURE, slow, 41.5),
            series(FREQUENCY, slow, 1.3e9),
            series(OBSERVER, slow, [0.5, 0.52]),
            streams=ALL,
            missing={"battery": "none"},
        )
    )
    return ledger


def state_of(ledger: Ledger, **rest: Any) -> ServiceState:
    return ServiceState(ledger.snapshot(ledger.last.t_ns), wall_offset_ns=1_700_000_000 * SECOND, board="small", **rest)


Get = Callable[..., tuple[str, dict[str, str], bytes]]


def getter(app: web.App) -> Get:
    """Calls a WSGI application as a server would."""

    def get(path: str = "/metrics", query: str = "", **headers: str) -> tuple[str, dict[str, str], bytes]:
        started: list[Any] = []
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query, **headers}
        body = b"".join(app(environ, lambda status, told, *_: started.extend([status, dict(told)])))
        return started[0], started[1], body

    return get


@pytest.fixture
def text() -> str:
    state = state_of(ledger_of_all(), emulated=True, marks=2, clients=1)
    return getter(metrics_app(lambda: state))()[2].decode()


def test_each_kind_of_sensor_shows_its_figures(text: str) -> None:
    shown = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}
    expected = {
        'kv_energy_joules_total{rail="som"}': 5.0,
        'kv_energy_joules_total{rail="package-0"}': 10.0,
        'kv_power_watts{rail="som"}': 5.0,
        'kv_accelerator_busy_seconds_total{accelerator="DPU_1"}': 1.0,
        'kv_accelerator_busy_seconds_total{accelerator="gpu"}': 0.5,
        'kv_accelerator_runs_total{accelerator="DPU_1"}': 50,
        'kv_memory_bytes_total{controller="ddr",direction="read",slot="slot3"}': 1e9,
        'kv_cpu_seconds_total{core="cpu0",mode="busy"}': 0.25,
        'kv_cpu_seconds_total{core="cpu0",mode="idle"}': 0.75,
        'kv_temperature_celsius{sensor="ps"}': 41.5,
        'kv_frequency_hertz{clock="cpu0"}': 1.3e9,
        'kv_observer_cpu_seconds_total{process="recorder"}': 0.02,
        'kv_sampler_samples_total{sampler="cu"}': 1001,
        'kv_sampler_gaps_total{reason="busy (EBUSY)",sampler="power.som"}': 3,
        'kv_sampler_gaps_total{reason="late",sampler="power.som"}': 0,
        'kv_sampler_uncovered_seconds_total{sampler="power.som"}': 0,
        'kv_sampler_lateness_seconds_bucket{le="3e-05",sampler="cu"}': 0,
        'kv_sampler_lateness_seconds_bucket{le="0.0001",sampler="cu"}': 1001,
        'kv_sampler_lateness_seconds_count{sampler="cu"}': 1001,
        'kv_sampler_lateness_seconds_sum{sampler="cu"}': 0.05005,
        'kv_sampler_effective_hertz{sampler="cu"}': 1000,
        'kv_sensor_up{sensor="cu"}': 1,
        'kv_sensor_up{sensor="battery"}': 0,
        'kv_last_sample_timestamp_seconds{sampler="cpu"}': 1_700_000_051,
        "kv_marks_total": 2,
        "kv_clients": 1,
        "kv_raw_file_up": 1,
    }
    assert {name: shown.get(name) for name in expected} == pytest.approx(expected)
    assert re.search(r'^kv_build_info\{board="small",emulated="true",version="[0-9.]+"\} 1\.0$', text, re.MULTILINE)
    assert re.search(r'^kv_rail_info\{boundary="SOM 5 V rail",chip="platform_ina260_u14".*rail="som"', text, re.M)
    assert "process_resident_memory_bytes" in shown


def test_promtool_finds_nothing_to_say(text: str) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    said = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, timeout=30)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


def test_every_metric_is_described_and_every_kind_with_figures_has_metrics() -> None:
    shown = {name for name, _, _ in rows(state_of(ledger_of_all()))}
    assert shown | {"kv_sampler_lateness_seconds"} == set(METRICS)
    assert set(OF_KIND) == set(READERS)
    for name, labels, _ in rows(state_of(ledger_of_all())):
        assert len(labels) == len(METRICS[name].labels), name


def test_a_sensor_that_is_down_shows_no_figure_and_never_zero() -> None:
    ledger = ledger_of_all()
    ledger.take(frame(BEGIN + 60 * SECOND, series(OBSERVER, [BEGIN + 60 * SECOND], 0.6)))
    text = getter(metrics_app(lambda: state_of(ledger)))()[2].decode()
    assert 'kv_sensor_up{sensor="power.som"} 0.0' in text
    assert 'kv_sampler_samples_total{sampler="power.som"} 101.0' in text
    assert 'kv_rail_info{boundary="SOM 5 V rail"' in text
    for metric in ("energy_joules", "power_watts", "accelerator", "memory_bytes", "cpu_seconds", "temperature"):
        assert f"\nkv_{metric}" not in text
    assert 'effective_hertz{sampler="power.som"}' not in text
    assert 'kv_observer_cpu_seconds_total{process="recorder"} 0.' in text


def test_before_the_first_frame_there_are_no_figures() -> None:
    text = getter(metrics_app(lambda: ServiceState(Snapshot(0), board="small")))()[2].decode()
    assert "kv_build_info" in text
    assert "kv_sampler" not in re.sub("^#.*$", "", text, flags=re.MULTILINE)


def test_a_state_is_rendered_once_for_each_form() -> None:
    asked = []
    states = [state_of(ledger_of_all()), state_of(ledger_of_all())]

    def latest() -> ServiceState:
        asked.append(states[0])
        return states[0]

    get = getter(metrics_app(latest))
    status, headers, plain = get()
    before = len(asked)
    assert get()[2] is not None
    # One look to see whether the state has changed, none to render.
    assert len(asked) == before + 1
    assert (status, headers["Content-Type"][:10]) == ("200 OK", "text/plain")
    packed = get(HTTP_ACCEPT_ENCODING="gzip")
    assert packed[1]["Content-Encoding"] == "gzip"
    # What follows is the process's own memory and time, which go on.
    assert gzip.decompress(packed[2]).partition(b"# HELP process_")[0] == plain.partition(b"# HELP process_")[0]
    openmetrics = get(HTTP_ACCEPT="application/openmetrics-text; version=1.0.0")
    assert openmetrics[2].endswith(b"# EOF\n")
    assert b"kv_energy" in get(query="name[]=kv_energy_joules_total")[2]
    states.reverse()
    assert len(get()[2]) > 0
    assert len(asked) > before + 5


def test_forms_that_somebody_makes_up_do_not_fill_memory() -> None:
    state = state_of(ledger_of_all())
    app = metrics_app(lambda: state)
    get = getter(app)
    for number in range(50):
        get(query=f"name[]=kv_{number}")
    assert len(app._answers) <= 8  # type: ignore[attr-defined]


# Pages


def pages(state: ServiceState) -> Get:
    return getter(web._routes(metrics_app(lambda: state), lambda: state))


def test_health_and_readiness_follow_the_state() -> None:
    fresh = pages(ServiceState(Snapshot(0)))
    assert fresh("/-/ready")[0].startswith("503")
    assert fresh("/-/healthy")[0].startswith("200")
    working = pages(state_of(ledger_of_all(), ready=True))
    assert working("/-/ready")[0] == working("/-/healthy")[0] == "200 OK"
    stuck = pages(state_of(ledger_of_all(), ready=True, stuck="nothing heard of cu"))
    assert stuck("/-/healthy")[::2] == ("503 Service Unavailable", b"nothing heard of cu\n")


def test_the_landing_page_lists_samplers_and_what_is_missing() -> None:
    status, headers, body = pages(state_of(ledger_of_all(), emulated=True))("/")
    assert (status, headers["Content-Type"]) == ("200 OK", "text/html; charset=utf-8")
    page = body.decode()
    assert "<tr><td>power.som<td>101<td>3<td>100.0</tr>" in page
    assert "no battery: none" in page
    assert "emulated" in page


def test_unknown_paths_are_not_found() -> None:
    status, _, body = pages(ServiceState(Snapshot(0)))("/-/reload")
    assert (status, body) == ("404 Not Found", b"no /-/reload here\n")


def test_the_page_about_the_service_lists_every_metric(repository: Path) -> None:
    page = (repository / "docs/daemon.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(kv_\w+)` \| (\w+) \|", page, re.MULTILINE))
    suffix = {"counter": "_total", "info": "_info"}
    assert listed == {name + suffix.get(metric.kind, ""): metric.kind for name, metric in METRICS.items()}
