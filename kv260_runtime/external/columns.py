"""Which columns of a meter's file hold what, and in which units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kv260_runtime.errors import ExitCode, KvbenchError

UNITS: Mapping[str, Mapping[str, float]] = {
    "unit": {"W": 1.0, "mW": 1e-3, "uW": 1e-6, "kW": 1e3},
    "volts_unit": {"V": 1.0, "mV": 1e-3, "uV": 1e-6},
    "amperes_unit": {"A": 1.0, "mA": 1e-3, "uA": 1e-6},
    "time_unit": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
}
COLUMNS = ("time", "power", "volts", "amperes")


@dataclass(frozen=True)
class Columns:
    """A name in the file's header, or a number from 1, for each column that is used."""

    time: str = "time"
    power: str | None = "power"
    """None where power is volts times amperes."""
    volts: str | None = None
    amperes: str | None = None
    unit: str = "W"
    volts_unit: str = "V"
    amperes_unit: str = "A"
    time_unit: str = "s"
    """Of times that are numbers; date stamps need none."""

    @property
    def used(self) -> dict[str, str]:
        """Column to its name in the file."""
        found = {name: getattr(self, name) for name in COLUMNS}
        return {name: title for name, title in found.items() if title is not None}

    def scale(self, name: str) -> float:
        """What a column's numbers are multiplied with."""
        units = {"power": "unit"}.get(name, f"{name}_unit")
        return UNITS[units][getattr(self, units)]


def parse_columns(text: str) -> Columns:
    """`time=tiempo,power=potencia,unit=mW` or `time=1,volts=2,amperes=3,amperes_unit=mA`.

    Raises KvbenchError in one line.
    """
    given: dict[str, str] = {}
    for word in text.split(","):
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not value or key not in (*COLUMNS, *UNITS):
            known = ", ".join((*COLUMNS, *UNITS))
            raise KvbenchError(f"columns {text!r}: {word!r} is not KEY=VALUE with a KEY of {known}", ExitCode.USAGE)
        if key in UNITS and value not in UNITS[key]:
            raise KvbenchError(f"columns {text!r}: {key} is one of {', '.join(UNITS[key])}", ExitCode.USAGE)
        given[key] = value
    product = {"volts", "amperes"} & given.keys()
    if product and ("power" in given or len(product) == 1):
        raise KvbenchError(f"columns {text!r}: give power, or volts and amperes", ExitCode.USAGE)
    return replace(Columns(power=None if product else "power"), **given)
