"""Where a measurement happens: a real board by its profile, or one that an installed package offers by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from kv260_runtime.errors import BoardUnavailable

ENTRY_POINT_GROUP = "kvbench.boards"


class BoardSession(Protocol):
    """A board made ready for measuring; closed by whoever opened it."""

    @property
    def profile(self) -> str:
        """Name of the board profile in configs/boards, e.g. `kv260`."""
        ...

    @property
    def root(self) -> Path:
        """The folder under which /sys, /proc and /dev of that board lie: `/` on the board itself."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables to set for processes that run models (search paths of the vendor's modules and commands)."""
        ...

    @property
    def label(self) -> str:
        """What every result of this board carries, e.g. `KV260`, or that it is emulated."""
        ...

    @property
    def emulated(self) -> bool:
        """True if no hardware is behind the figures."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """JSON-able facts needed to repeat the session: seed, constants, faults of an emulation; empty on hardware."""
        ...

    @property
    def files(self) -> str | None:
        """`module:callable` giving the recorder's file access, or None for the system's own."""
        ...

    def lost(self) -> str | None:
        """Why no further run is possible on this board, in words; None while it is there."""
        ...

    def close(self) -> None:
        """Release the board; idempotent."""
        ...


@dataclass(frozen=True)
class HardwareBoard:
    """The machine this process runs on."""

    profile: str
    label: str
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=dict)
    emulated: bool = False
    provenance: Mapping[str, Any] = field(default_factory=dict)
    files: str | None = None

    def lost(self) -> str | None:
        """The machine this runs on does not go away."""
        return None

    def close(self) -> None:
        """Nothing to release."""


def installed_boards() -> list[str]:
    """Names of boards that installed packages offer through the entry point group."""
    return sorted(point.name for point in entry_points(group=ENTRY_POINT_GROUP))


def open_installed_board(name: str, options: Mapping[str, str]) -> BoardSession:
    """Open a board offered by an entry point.

    Raises BoardUnavailable if no package offers `name`; what the package itself raises passes through.
    """
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name == name:
            session: BoardSession = point.load()(options)
            return session
    raise BoardUnavailable(f"no board is called {name!r}; known: {', '.join(installed_boards()) or 'none'}")
