"""Named arrays in a file between two of our processes; a tensor may have any name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kv260_runtime.accelerators import Array


def save(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write the arrays; the file appears when it is complete."""
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        np.savez(file, *arrays.values(), names=np.array(list(arrays), dtype=np.str_))
    temporary.replace(path)


def load(path: Path) -> dict[str, Array]:
    """Inverse of `save`."""
    with np.load(path, allow_pickle=False) as archive:
        return {str(name): archive[f"arr_{number}"] for number, name in enumerate(archive["names"])}
