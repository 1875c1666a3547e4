"""Finding sensor files by pattern through the reading object."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from telemetry.files import Files


def find(files: Files, root: Path, pattern: str) -> list[Path]:
    """The paths below `root` that match `pattern` part by part (`*`, `?`, `[a-z]`), sorted with 2 before 10."""
    found = [root]
    for part in pattern.split("/"):
        if part in ("", "."):
            continue
        found = [parent / name for parent in found for name in names(files, parent) if fnmatchcase(name, part)]
    return found


def names(files: Files, folder: Path) -> list[str]:
    """The names in a folder in natural order; none if it is not there, or not a folder."""
    try:
        return sorted(files.names(folder), key=_natural)
    except OSError:
        return []


def _natural(name: str) -> tuple[str, int, str]:
    """hwmon2 sorts before hwmon10, without the cost of a regular expression."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem):] or -1), name
