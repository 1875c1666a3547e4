"""Executions per joule at powers that a meter may show."""

from __future__ import annotations

import pytest

from telemetry.errors import NotCovered
from telemetry.figures import throughput
from telemetry.figures.figure import Quality, figure

QUALITY = Quality(10, 10.0, None, None, 1.0)
RATE = figure("throughput", 50.0, QUALITY)


@pytest.mark.parametrize("watts", [0.0, -0.0, -3.5])
def test_power_that_is_not_above_0_gives_no_executions_per_joule(watts: float) -> None:
    with pytest.raises(NotCovered, match="W is not above 0: no executions per joule"):
        throughput.per_watt(RATE, figure("power", watts, QUALITY))


def test_power_above_0_divides_the_throughput() -> None:
    assert throughput.per_watt(RATE, figure("power", 4.0, QUALITY)).value == pytest.approx(12.5)
