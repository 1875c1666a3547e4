"""Files that stand for generated attributes: one line of constant length, rewritten in place.

A reader keeps its descriptor open and never sees a file that is renamed over, and between a truncation and a write it
would see nothing at all; so the length never changes unless that emptiness is the point.
"""

from __future__ import annotations

import os
from pathlib import Path


class LineFile:
    """One file, kept open for writing."""

    def __init__(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        self._content = b""
        self.replace(content)

    def write(self, content: bytes) -> None:
        """Overwrite in place; ValueError if the length differs, which would tear the line for a reader."""
        if len(content) != len(self._content):
            raise ValueError(f"{content!r} has another length than {self._content!r}")
        if content != self._content:
            os.pwrite(self._descriptor, content, 0)
            self._content = content

    def show(self, content: bytes) -> None:
        """Overwrite in place if the length allows it, else `replace`."""
        if len(content) == len(self._content):
            self.write(content)
        else:
            self.replace(content)

    def replace(self, content: bytes) -> None:
        """Give the file another length; a reader may meet it empty."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, content, 0)
        self._content = content

    def close(self) -> None:
        """Close the descriptor; the file stays."""
        os.close(self._descriptor)


def write_file(path: Path, content: bytes | str) -> None:
    """A file that never changes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def link(path: Path, target: str) -> None:
    """A relative symbolic link, as sysfs has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
