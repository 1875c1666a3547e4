"""The service's metrics for Prometheus, rendered once for each state of the service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from telemetry.service.metrics import METRICS, Metric, rows
from telemetry.service.snapshot import LATE_BOUNDS_SECONDS, ServiceState, StreamTotals
from telemetry.service.web import App

FAMILIES = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}


class StateCollector(Collector):
    """Metric families of the present state."""

    def __init__(self, latest: Callable[[], ServiceState]) -> None:
        self._latest = latest

    def collect(self) -> Iterable[Any]:
        """One family for each metric that has a sample."""
        state = self._latest()
        found: dict[str, list[tuple[tuple[str, ...], float]]] = {}
        for name, labels, value in rows(state):
            found.setdefault(name, []).append((labels, value))
        for name, metric in METRICS.items():
            if metric.kind == "histogram":
                yield _lateness(name, metric, state.snapshot.streams)
            elif name in found:
                yield _family(name, metric, found[name])

    def describe(self) -> Iterable[Any]:
        """All families without samples, by which `?name[]=` finds its metrics."""
        for name, metric in METRICS.items():
            yield _lateness(name, metric, ()) if metric.kind == "histogram" else _family(name, metric, [])


def _family(name: str, metric: Metric, samples: list[tuple[tuple[str, ...], float]]) -> Any:  # noqa: ANN401
    if metric.kind == "info":
        info = InfoMetricFamily(name, metric.help)
        for labels, _ in samples:
            info.add_metric((), dict(zip(metric.labels, labels, strict=True)))
        return info
    family = FAMILIES[metric.kind](name, metric.help, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _lateness(name: str, metric: Metric, streams: tuple[StreamTotals, ...]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, metric.help, labels=metric.labels)
    bounds = [*map(str, LATE_BOUNDS_SECONDS), "+Inf"]
    for totals in streams:
        buckets = list(zip(bounds, accumulate(totals.late_counts), strict=True))
        family.add_metric((totals.stream.name,), buckets, totals.late_seconds)
    return family


CACHED_FORMS = 8
"""Formats and compressions that scrapers of one service ask for; more are rendered each time."""


def metrics_app(latest: Callable[[], ServiceState]) -> App:
    """prometheus_client's application over the latest state, each form of which is rendered once."""
    registry = CollectorRegistry()
    registry.register(StateCollector(latest))
    ProcessCollector(registry=registry)
    return _Cached(make_wsgi_app(registry), latest)


class _Cached:
    """Gives the answer to a request again until the state changes."""

    def __init__(self, app: App, latest: Callable[[], ServiceState]) -> None:
        self._app = app
        self._latest = latest
        self._lock = threading.Lock()
        self._state: ServiceState | None = None
        self._answers: dict[tuple[str, ...], tuple[tuple[Any, ...], list[bytes]]] = {}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        names = ("REQUEST_METHOD", "QUERY_STRING", "HTTP_ACCEPT", "HTTP_ACCEPT_ENCODING")
        form = tuple(environ.get(name, "") for name in names)
        with self._lock:
            if self._state is not self._latest():
                self._state, self._answers = self._latest(), {}
            if form not in self._answers:
                started: list[tuple[Any, ...]] = []
                body = list(self._app(environ, lambda *arguments: started.append(arguments)))
                if len(self._answers) >= CACHED_FORMS:
                    self._answers.clear()
                self._answers[form] = started[0], body
            start, body = self._answers[form]
        start_response(*start)
        return body
