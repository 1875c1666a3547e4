"""Executions of known parts as a slow sensor and samples of the compute unit show them; energy in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from telemetry.figures.folding import Folding, fold
from telemetry.model import Column, Series, Stream, Window

MS = 1_000_000
CU = "DPUCZDX8G_1"
IDLE, RUNNING = 0x4, 0x1


@dataclass(frozen=True)
class Part:
    """One stretch of an execution."""

    milliseconds: float
    watts: float
    run: bool


@dataclass(frozen=True)
class Workload:
    """One execution over and over, watched for some seconds."""

    parts: Sequence[Part]
    seconds: float = 60.0
    jitter_ms: float = 0.1
    """Standard deviation of each stretch of the host."""
    averaging_ms: float = 8.8
    period_ms: float = 10.0
    noise_watts: float = 0.008
    seed: int = 0

    @property
    def runs(self) -> int:
        return sum(part.run for part in self.parts)

    def joules(self) -> list[float]:
        """Mean energy of each stretch in one execution."""
        return [part.milliseconds * part.watts / 1e3 for part in self.parts]

    def observed(self) -> tuple[Series, Series, np.ndarray, Window]:
        """Power and compute unit as recorded, completions, and the window to look at."""
        draw = np.random.default_rng(self.seed)
        count = int(self.seconds * 1e3 / sum(part.milliseconds for part in self.parts))
        lengths = np.array([[part.milliseconds * MS for part in self.parts]] * count, np.float64)
        host = [not part.run for part in self.parts]
        lengths[:, host] += np.clip(draw.normal(0, self.jitter_ms * MS, lengths[:, host].shape), -0.5 * MS, 0.5 * MS)
        edges = np.concatenate([[0.0], np.cumsum(lengths.ravel())])
        completions = edges[len(self.parts) :: len(self.parts)]
        stop = edges[-1]
        window = Window(int(0.05 * stop), int(0.95 * stop))
        return self._power(edges, draw), self._cu(edges, draw), completions.astype(np.int64), window

    def _power(self, edges, draw) -> Series:
        watts = np.tile([part.watts for part in self.parts], len(edges) // len(self.parts))
        used = np.concatenate([[0.0], np.cumsum(np.diff(edges) * watts)])
        width, period = self.averaging_ms * MS, self.period_ms * MS
        t = np.arange(3 * width, edges[-1], period)
        phase = draw.uniform(0, width)
        ends = np.floor((t - phase) / width) * width + phase
        shown = (np.interp(ends, edges, used) - np.interp(ends - width, edges, used)) / width
        shown = np.round((shown + draw.normal(0, self.noise_watts, t.size)) / 0.01) * 0.01
        stream = Stream(
            "power.som", "hwmon-power", int(period), (Column("watts", "W", "gauge"),), {"averaging_ns": str(int(width))}
        )
        return Series(stream, t.astype(np.int64), np.zeros(t.size, np.int64), {"watts": shown})

    def _cu(self, edges, draw) -> Series:
        t = np.arange(0, edges[-1] + 5 * MS, MS)
        t = t + draw.uniform(0, MS, t.size)
        run = np.tile([part.run for part in self.parts], len(edges) // len(self.parts))
        starts, ends = edges[:-1][run], edges[1:][run]
        usage = np.searchsorted(starts, t, side="right")
        completed = np.searchsorted(ends, t, side="right")
        columns = [Column(f"status.{CU}", "1", "state"), Column(f"usage.{CU}", "1", "counter")]
        values = {f"status.{CU}": np.where(usage > completed, RUNNING, IDLE), f"usage.{CU}": usage + 1000}
        stream = Stream("cu", "xrt-cu", MS, tuple(columns))
        return Series(stream, t.astype(np.int64), np.zeros(t.size, np.int64), values)

    def folded(self) -> Folding:
        power, cu, completions, window = self.observed()
        return fold(power, cu, CU, completions, window, self.runs)
