"""Power from meters that are not the board's: other boundaries than its rails, and readings typed in from a display."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.figure import Figure, Quality, figure
from telemetry.figures.pieces import column
from telemetry.figures.power import WATTS
from telemetry.figures.repeatable import mean
from telemetry.model import Series, Window

FILE = "external"
"""Kind of a stream that comes from a meter's file."""
TYPED = "external-typed"
"""Kind of a stream whose readings were typed in: they have means, but no integral between them."""
EQUATION = "c2fdeploy.txt, Eq. 25"


def mean_reading(series: Series, window: Window) -> Figure:
    """Mean of the readings in the window, each counting alike (c2fdeploy.txt, section 2.6).

    Raises NotCovered if there is none.
    """
    inside = slice(*np.searchsorted(series.t_ns, [window.start_ns, window.end_ns + 1]))
    watts = np.asarray(column(series, WATTS)[inside], np.float64)
    if watts.size == 0:
        raise NotCovered(f"no reading of {series.stream.name} was typed in for this run")
    quality = Quality(watts.size, watts.size / window.seconds, None, None, 1.0, ("typed in",))
    return figure("power", mean(watts), quality)


def per_execution(power: Figure, executions_per_second: Figure) -> Figure:
    """Energy at the meter's boundary per execution. Source: c2fdeploy.txt, Eq. 25."""
    value = power.value / executions_per_second.value
    return by_equation_25(figure("energy_per_execution", value, power.quality))


def by_equation_25(energy: Figure) -> Figure:
    """An energy per execution under the number that the paper gives it at an external boundary.

    Mean power over throughput is the integral over the executions divided by their number, to the last digit.
    """
    return replace(energy, source=EQUATION)
