"""Mean temperatures over a window."""

from __future__ import annotations

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.figure import Figure, Quality, figure
from telemetry.figures.repeatable import mean
from telemetry.model import Series, Window

CELSIUS = "celsius."


def mean_celsius(series: Series, window: Window) -> dict[str, Figure]:
    """Mean of the readings in a window, in degrees Celsius, by sensor.

    Temperatures change slowly against any period they are read at, so readings count alike. Raises NotCovered if there
    is none in the window.
    """
    inside = slice(*np.searchsorted(series.t_ns, [window.start_ns, window.end_ns + 1]))
    count = int(series.t_ns[inside].size)
    if count == 0:
        raise NotCovered(f"stream {series.stream.name} has no reading in the window of {window.seconds:.3f} s")
    quality = Quality(count, count / window.seconds, None, None, 1.0)
    return {
        name.removeprefix(CELSIUS): figure(
            "temperature", mean(np.asarray(samples[inside], np.float64)), quality, part=name.removeprefix(CELSIUS)
        )
        for name, samples in series.values.items()
        if name.startswith(CELSIUS)
    }
