"""Temperatures that follow the rail's power slowly: the `ams` hwmon chip, which has no power file; a thermal zone."""

from __future__ import annotations

import math
from pathlib import Path

from virtual_board.constants import Constants
from virtual_board.linefile import LineFile, link, write_file

DEVICE = Path("sys/devices/platform/axi/ffa50000.ams")
SENSORS = {1: "ps_temp", 2: "remote_temp", 3: "pl_temp"}
BELOW_DIE_KELVIN = {1: 0.0, 2: 0.6, 3: 1.1}
"""Where each sensor sits, relative to the hottest. Assumed."""


class Thermometers:
    """A first-order lag between watts and kelvin."""

    def __init__(self, root: Path, constants: Constants, now_ns: int) -> None:
        self._constants = constants
        self._since_ns = now_ns
        self.celsius = constants.ambient_celsius + constants.kelvin_per_watt * constants.idle_watts
        folder = root / DEVICE / "hwmon/hwmon0"
        write_file(folder / "name", "ams\n")
        write_file(folder / "in1_input", "850\n")
        for number, label in SENSORS.items():
            write_file(folder / f"temp{number}_label", f"{label}\n")
        self._files = {number: LineFile(folder / f"temp{number}_input", self._reading(number)) for number in SENSORS}
        link(folder / "device", "../../../ffa50000.ams")
        link(root / "sys/class/hwmon/hwmon0", "../../devices/platform/axi/ffa50000.ams/hwmon/hwmon0")
        zone = root / "sys/class/thermal/thermal_zone0"
        write_file(zone / "type", "apu-thermal\n")
        self._zone = LineFile(zone / "temp", self._reading(1))

    def follow(self, now_ns: int, mean_watts: float) -> None:
        """Move towards where this power leads, and show it."""
        constants = self._constants
        target = constants.ambient_celsius + constants.kelvin_per_watt * mean_watts
        elapsed_seconds = (now_ns - self._since_ns) * 1e-9
        self.celsius = target + (self.celsius - target) * math.exp(-elapsed_seconds / constants.thermal_seconds)
        self._since_ns = now_ns
        for number, file in self._files.items():
            file.show(self._reading(number))
        self._zone.show(self._reading(1))

    def _reading(self, number: int) -> bytes:
        return b"%d\n" % round((self.celsius - BELOW_DIE_KELVIN[number]) * 1000)
