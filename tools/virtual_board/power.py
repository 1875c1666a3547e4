"""The INA260 on the SOM rail: an average over each conversion, in 10 mW steps, readable when the conversion ends."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from virtual_board.constants import Constants
from virtual_board.linefile import LineFile, link, write_file
from virtual_board.state import Level

DEVICE = Path("sys/devices/platform/ina260-u14")
IIO = Path("sys/devices/platform/axi/ff030000.i2c/i2c-1/1-0040/iio:device1")
INTEGRATION_TIMES = "0.000140 0.000204 0.000332 0.000588 0.0011 0.002116 0.004156 0.008244"
VOLT_STEP, AMPERE_STEP = 1.25e-3, 1.25e-3


class PowerSensor:
    """What an INA260 says about a rail."""

    def __init__(self, root: Path, constants: Constants, generator: random.Random, rail: Level, now_ns: int) -> None:
        self._root = root
        self._constants = constants
        self._generator = generator
        self.gain_error = generator.uniform(-1, 1) * constants.gain_limit
        self.offset_watts = generator.uniform(-1, 1) * constants.offset_limit_watts
        self._rail = rail
        self._joules, self._since_ns = 0.0, now_ns
        self.mean_watts = constants.idle_watts
        """Of the last conversion, without the sensor's errors."""
        self.stuck = False
        self._number = 1
        self._files: tuple[LineFile, LineFile, LineFile] | None = None
        self._iio_files()
        self.appear()

    def convert(self, now_ns: int) -> None:
        """End a conversion: show the average since the last one."""
        joules = self._rail.integral(now_ns)
        if now_ns > self._since_ns:
            self.mean_watts = (joules - self._joules) / (now_ns - self._since_ns) * 1e9
        self._joules, self._since_ns = joules, now_ns
        if self._files is None or self.stuck:
            return
        for file, content in zip(self._files, self._readings(), strict=True):
            file.write(content)

    def appear(self) -> None:
        """Put the hwmon device into the tree."""
        folder = self._folder()
        write_file(folder / "name", "ina260_u14\n")
        link(folder / "device", "../../../ina260-u14")
        link(self._root / "sys/class/hwmon" / folder.name, f"../../devices/platform/ina260-u14/hwmon/{folder.name}")
        names = ("in1_input", "curr1_input", "power1_input")
        volts, amperes, power = (
            LineFile(folder / name, content) for name, content in zip(names, self._readings(), strict=True)
        )
        self._files = (volts, amperes, power)

    def vanish(self) -> None:
        """Take it out; a reader that kept a descriptor gets empty reads."""
        if self._files is None:
            return
        for file in self._files:
            file.replace(b"")
            file.close()
        self._files = None
        (self._root / "sys/class/hwmon" / self._folder().name).unlink()
        shutil.rmtree(self._folder())

    def renumber(self) -> None:
        """Unbind and bind: the same sensor under another hwmon number."""
        self.vanish()
        self._number += 2
        self.appear()

    def _folder(self) -> Path:
        return self._root / DEVICE / "hwmon" / f"hwmon{self._number}"

    def _readings(self) -> tuple[bytes, bytes, bytes]:
        constants = self._constants
        watts = self.mean_watts * (1 + self.gain_error) + self.offset_watts
        watts += self._generator.gauss(0, constants.noise_watts)
        step = constants.power_step_watts
        microwatts = round(round(max(watts, 0) / step) * step * 1e6)
        volts = constants.rail_volts + self._generator.gauss(0, VOLT_STEP)
        millivolts = round(round(volts / VOLT_STEP) * VOLT_STEP * 1e3)
        milliamperes = round(round(watts / volts / AMPERE_STEP) * AMPERE_STEP * 1e3)
        # Leading zeros keep the length; they do not change what strtol or int() read.
        return b"%04d\n" % millivolts, b"%04d\n" % milliamperes, b"%08d\n" % microwatts

    def _iio_files(self) -> None:
        folder = self._root / IIO
        write_file(folder / "name", "ina260\n")
        write_file(folder / "label", "ina260-u14\n")
        write_file(folder / "in_oversampling_ratio", "4\n")
        for channel in ("in_current0", "in_voltage1"):
            write_file(folder / f"{channel}_integration_time", "0.001100\n")
            write_file(folder / f"{channel}_scale", "1.250000000\n")
        write_file(folder / "in_power2_scale", "10.000000000\n")
        write_file(folder / "integration_time_available", f"{INTEGRATION_TIMES}\n")
        link(self._root / "sys/bus/iio/devices" / folder.name, f"../../../{IIO.relative_to('sys')}")
