"""Readers of plain number files: each column is one file, scaled to SI and held against a plausible range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers.sensor_file import SensorFile, whole_number, within


@dataclass(frozen=True)
class NumberFile:
    """One column and the file behind it."""

    column: Column
    locate: Callable[[], Path]
    """As `SensorFile` has it."""


class NumbersReader:
    """Several number files of one kind, read one after the other; one that fails makes the whole reading a gap."""

    def __init__(
        self,
        files: Files,
        sources: Sequence[NumberFile],
        scale: float,
        plausible: tuple[float, float],
        attributes: Mapping[str, str],
    ) -> None:
        self._sources = [SensorFile(files, source.locate) for source in sources]
        self._scale = scale
        self._low, self._high = plausible
        self.columns: tuple[Column, ...] = tuple(source.column for source in sources)
        self.attributes = attributes

    def read(self) -> tuple[float, ...]:
        """The values in SI."""
        scale, low, high = self._scale, self._low, self._high
        return tuple([within(whole_number(source.read()) * scale, low, high) for source in self._sources])

    def close(self) -> None:
        """Close all descriptors."""
        for source in self._sources:
            source.close()
