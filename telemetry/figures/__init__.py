"""Figures: pure functions from series and windows to values that carry their quality."""

from telemetry.figures.figure import Figure, Quality

__all__ = ["Figure", "Quality"]
