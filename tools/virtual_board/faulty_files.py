"""File access for a recorder that is to meet errors a regular file never gives: EBUSY, ENODEV.

It has the shape of telemetry.files.Files. Which faults are on stands in a small file beside the tree, which the board
writes; it is found from the path of a sensor, so that the recorder needs no setting of its own.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
from pathlib import Path

CONTROL = "control"
BUSY, GONE = 0, 1
CONTROL_BYTES = 16
ANSWERED_OF_BUSY = 10
"""During a storm one read of so many is answered."""
DISTURBED = "hwmon"
"""A file is disturbed if its resolved path has such a folder and belongs to the power sensor."""


class Control:
    """The board's end: one byte a fault."""

    def __init__(self, folder: Path) -> None:
        path = folder / CONTROL
        path.write_bytes(bytes(CONTROL_BYTES))
        self._descriptor = os.open(path, os.O_WRONLY)

    def set(self, fault: int, on: bool) -> None:
        """Switch one fault."""
        os.pwrite(self._descriptor, bytes([on]), fault)


class FaultyFile:
    """A kept-open descriptor whose reads may fail."""

    def __init__(self, path: Path, control: mmap.mmap | None) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._control = control if _is_power(path) else None
        self._name = path.name
        self._reads = 0

    def read(self, size: int = 4096) -> bytes:
        """Up to `size` bytes from offset 0, or the errno of a fault that is on."""
        control = self._control
        if control is not None:
            if control[GONE]:
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), self._name)
            if control[BUSY]:
                self._reads += 1
                if self._reads % ANSWERED_OF_BUSY:
                    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), self._name)
        return os.pread(self._descriptor, size, 0)

    def close(self) -> None:
        """Close the descriptor."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class RegisterPage:
    """A mapped register page under an exclusive lock."""

    def __init__(self, path: Path, length: int) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._map = mmap.mmap(self._descriptor, length)
        except OSError:
            os.close(self._descriptor)
            raise
        self._words: ctypes.Array[ctypes.c_uint32] | None = (ctypes.c_uint32 * (length // 4)).from_buffer(self._map)

    def read32(self, offset: int) -> int:
        """The register at byte `offset`."""
        return self._page()[offset >> 2]

    def write32(self, offset: int, value: int) -> None:
        """Store `value` at byte `offset`."""
        self._page()[offset >> 2] = ctypes.c_uint32(value)

    def close(self) -> None:
        """Unmap and unlock."""
        if self._words is not None:
            self._words = None
            self._map.close()
            os.close(self._descriptor)

    def _page(self) -> ctypes.Array[ctypes.c_uint32]:
        if self._words is None:
            raise ValueError("the page is closed")
        return self._words


class FaultyFiles:
    """The machine's file system with the board's faults."""

    def __init__(self) -> None:
        self._controls: dict[Path, mmap.mmap] = {}

    def open(self, path: Path) -> FaultyFile:
        """Open for repeated reading."""
        return FaultyFile(path, self._control(path))

    def read(self, path: Path) -> bytes:
        """The whole content."""
        file = self.open(path)
        try:
            return file.read(1 << 20)
        finally:
            file.close()

    def write(self, path: Path, data: bytes) -> None:
        """Replace a small file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_bytes(data)
        draft.replace(path)

    def names(self, path: Path) -> list[str]:
        """The sorted names in a folder."""
        return sorted(os.listdir(path))  # noqa: PTH208  (names are wanted)

    def resolve(self, path: Path) -> Path:
        """The path with links followed."""
        return path.resolve(strict=True)

    def map_registers(self, path: Path, length: int) -> RegisterPage:
        """Map a register page; BlockingIOError if another process holds it."""
        return RegisterPage(path, length)

    def _control(self, path: Path) -> mmap.mmap | None:
        for folder in path.parents:
            if folder in self._controls:
                return self._controls[folder]
            if (folder / CONTROL).is_file() and (folder / "root").is_dir():
                with (folder / CONTROL).open("rb") as file:
                    self._controls[folder] = mmap.mmap(file.fileno(), CONTROL_BYTES, access=mmap.ACCESS_READ)
                return self._controls[folder]
        return None


def open_files() -> FaultyFiles:
    """What a recorder loads by name."""
    return FaultyFiles()


def _is_power(path: Path) -> bool:
    return DISTURBED in path.parts and (path.parent / "power1_input").exists()
