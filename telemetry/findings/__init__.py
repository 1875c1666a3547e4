"""Conditions of a measurement worth telling, as values: what was seen, in figures, and what to do about it.

Each check takes values and returns a Finding or None; none reads a sensor or decides what becomes of a run.
"""

from telemetry.findings.finding import Finding, Severity

__all__ = ["Finding", "Severity"]
