"""Quantities that a part integrates over time, piece by piece."""

from __future__ import annotations


class Level:
    """A rate that holds until it changes, and its integral."""

    def __init__(self, now_ns: int, rate: float) -> None:
        self.rate = rate
        self._since_ns = now_ns
        self._integral = 0.0

    def change(self, now_ns: int, delta: float) -> None:
        """Raise or lower the rate from `now_ns` on."""
        self.integral(now_ns)
        self.rate += delta

    def integral(self, now_ns: int) -> float:
        """Rate times seconds since the beginning."""
        self._integral += self.rate * (now_ns - self._since_ns) * 1e-9
        self._since_ns = now_ns
        return self._integral
