"""Every constant of the emulation with its anchor: what was measured, by whom, and what was fitted to what.

Anchors: "paper" is the C2fDeploy paper (tables by number), "rules" is the rules of measurement, "board" is the sheet of
board facts. There are no more fitted constants than anchors, and what has no anchor is called assumed.
The paper contradicts itself about the Original graph (0.3562 % busy for the same arithmetic); the model is fitted to
C2fDeploy alone and predicts 0.96 %.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

HOST_OVERHEAD_NS: Mapping[str, int] = {"xdputil": 1_830_000, "graph": 2_100_000, "vart": 2_950_000}
"""Host time of one execution by boundary. Rules: paper's Tables 6, 10 and 9 minus the CU time of 18.53 ms."""

BACKGROUND_BYTES_PER_SECOND: Mapping[str, int] = {
    "read.slot1": 400_000,
    "write.slot1": 200_000,
    "read.slot2": 300_000,
    "write.slot2": 100_000,
}
"""Traffic of the idle CPU by column. Assumed: small and constant."""

DRAWN = ("efficiency", "cpu_ns_per_element", "idle_watts", "dpu_watts", "core_watts")
"""What `Constants.drawn` varies, besides the host overheads."""


@dataclass(frozen=True)
class Constants:
    """Constants of one board; `drawn` gives another board of the same kind."""

    # Time
    efficiency: float = 18.2e9 / 18.53e-3 / (4096 * 300e6)
    """Share of the DPU's peak (4096 operations a clock at 300 MHz) that convolutions reach. Fitted: 18.53 ms of CU time
    for 18.2 GOP (rules; paper's Table 8: 90.7465 % of 20.42 ms)."""
    peak_ops_per_second: float = 4096 * 300e6
    """B4096 at 300 MHz (board 1.7)."""
    port_bytes_per_second: float = 16 * 300e6
    """Per port and direction: 128 bits at the DPU's 300 MHz. Not fitted."""
    host_overhead_ns: Mapping[str, int] = field(default_factory=lambda: dict(HOST_OVERHEAD_NS))
    """See HOST_OVERHEAD_NS; three boundaries, three anchors."""
    host_run_sd: float = 0.009
    """Relative SD of the host overhead from one process to the next: 0.04 of 49.13 executions/s (paper, Table 6)."""
    host_execution_sd: float = 0.009
    """The same from one execution to the next. Assumed equal to `host_run_sd`."""

    cpu_ns_per_element: float = (1938.7e6 - 1.83e6 - 18.53e6) / 3_145_728
    """CPU operators other than conversions, per element they produce. Fitted: 1938.7 ms an execution of Original
    (paper, Table 6) less host overhead and CU time, over the elements that the fragmented demo model slices."""

    # Power of the SOM rail, watts
    idle_watts: float = 4.83
    """Overlay loaded, nothing running: between 4.8 and 5.03 W (rules); not fitted."""
    dpu_watts: float = 4.269
    """Above idle while the CU runs. Fitted with `core_watts`: 8.735 W for C2fDeploy and 5.087 W for Original (paper,
    Table 6) at this model's shares of the CU (18.53 ms of 20.36 and of 1938.7) and of one core (the rest)."""
    core_watts: float = 0.218
    """Above idle per busy core. See `dpu_watts`: two equations, two unknowns."""
    rail_volts: float = 5.07
    """The 5 V rail (board 11.6)."""

    # The sensor (INA260 by iio-hwmon)
    averaging_ns: int = 8_800_000
    """Four averages of 1.1 ms + 1.1 ms (board 3.1)."""
    power_step_watts: float = 0.010
    """Board 3.1; also 1.25 mA and 1.25 mV."""
    gain_limit: float = 0.0015
    """The gain error of a sensor is drawn evenly from +- this: u = 0.15 % / sqrt(3) (data sheet, maximum)."""
    offset_limit_watts: float = 0.00625
    """The offset likewise: 1.25 mA at 5 V (data sheet, typical)."""
    noise_watts: float = 0.008
    """White noise of one conversion, standard deviation. Assumed: below one step, so that readings still vary."""

    # CPU
    core_count: int = 4
    """Cortex-A53 of a Zynq UltraScale+ EG/EV."""
    background_share: float = 0.004
    """Of each core's idle time: 2.6536 % system load (paper, Table 8) minus 2.25 % host overhead of this model."""
    tick_hz: int = 100
    """USER_HZ."""

    # Memory
    apm_hz: float = 533_333_333.0
    """Clock of the performance monitor (board 2.5)."""
    background_bytes_per_second: Mapping[str, int] = field(default_factory=lambda: dict(BACKGROUND_BYTES_PER_SECOND))
    """See BACKGROUND_BYTES_PER_SECOND."""

    # Temperature
    ambient_celsius: float = 25.0
    """Assumed."""
    kelvin_per_watt: float = 2.8
    """Assumed: die above ambient with the kit's heat sink and fan."""
    thermal_seconds: float = 30.0
    """Assumed: time constant of die and heat sink."""

    def drawn(self, seed: int, share: float) -> Constants:
        """A board whose time and power constants each differ by an even draw within +- `share`."""
        generator = random.Random(f"{seed}/constants")

        def factor() -> float:
            return 1 + share * generator.uniform(-1, 1)

        overheads = {name: round(value * factor()) for name, value in self.host_overhead_ns.items()}
        scaled = {name: getattr(self, name) * factor() for name in DRAWN}
        return replace(self, host_overhead_ns=overheads, **scaled)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for provenance and the event log."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Constants:
        """Inverse of `to_json`."""
        return cls(**plain)
