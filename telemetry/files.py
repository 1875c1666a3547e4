"""The one object through which sensor files are reached: kept-open reads, whole reads, listing, mapped registers."""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import mmap
import os
from pathlib import Path
from typing import Protocol

from telemetry.errors import ConfigError, SensorNotFound


class OpenFile(Protocol):
    """A descriptor that stays open between reads."""

    def read(self, size: int = 4096) -> bytes:
        """Up to `size` bytes from offset 0, generated anew by the kernel each time; OSError passes through."""
        ...

    def close(self) -> None:
        """Close the descriptor; idempotent."""
        ...


class Registers(Protocol):
    """A mapped page of device registers, reached by single aligned 32-bit loads and stores only."""

    def read32(self, offset: int) -> int:
        """The register at byte `offset`."""
        ...

    def write32(self, offset: int, value: int) -> None:
        """Store `value` (0 to 2**32 - 1) at byte `offset`."""
        ...

    def close(self) -> None:
        """Unmap and release the lock; idempotent."""
        ...


class Files(Protocol):
    """What a reader may do to the file system; every method lets OSError through."""

    def open(self, path: Path) -> OpenFile:
        """Open for repeated reading."""
        ...

    def read(self, path: Path) -> bytes:
        """The whole content of a small file."""
        ...

    def write(self, path: Path, data: bytes) -> None:
        """Create or replace a small file and its folders; for state files, never for sensors."""
        ...

    def names(self, path: Path) -> list[str]:
        """The sorted names in a folder."""
        ...

    def resolve(self, path: Path) -> Path:
        """The path with every symbolic link followed; sysfs tells by it on which bus a device sits."""
        ...

    def map_registers(self, path: Path, length: int) -> Registers:
        """Map `length` bytes of a UIO node, locked against other processes while mapped.

        Raises SensorNotFound, naming the holder of the lock where the system tells it, if the node is taken.
        """
        ...


class SystemFile:
    """A kept-open descriptor of this machine."""

    __slots__ = ("_descriptor",)

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, size: int = 4096) -> bytes:
        """One pread at offset 0; no Python file object, whose buffering would return stale text or spin on EAGAIN."""
        return os.pread(self._descriptor, size, 0)

    def close(self) -> None:
        """Close the descriptor; reading afterwards fails with EBADF."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class MappedRegisters:
    """Registers of a UIO node, or of a regular file that stands for one."""

    def __init__(self, path: Path, length: int) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
        try:
            _lock(self._descriptor, path)
            self._map = mmap.mmap(self._descriptor, length)
        except (OSError, ValueError) as error:
            os.close(self._descriptor)
            if isinstance(error, ValueError):  # a regular file shorter than `length`
                raise SensorNotFound(f"{path}: cannot map {length} bytes of registers: {error}") from error
            raise
        # An element of a c_uint32 array is read and written in one 32-bit access; slices of an mmap are copied by
        # bytes, which a register page answers with a bus error.
        self._words: ctypes.Array[ctypes.c_uint32] | None = (ctypes.c_uint32 * (length // 4)).from_buffer(self._map)

    def read32(self, offset: int) -> int:
        """The register at byte `offset`; ValueError if it is not aligned or the page is closed."""
        return self._page(offset)[offset >> 2]

    def write32(self, offset: int, value: int) -> None:
        """Store `value`; ValueError if `offset` is not aligned or the page is closed."""
        self._page(offset)[offset >> 2] = ctypes.c_uint32(value)

    def close(self) -> None:
        """Unmap, then close the descriptor, which gives up the lock."""
        if self._words is not None:
            self._words = None
            self._map.close()
            os.close(self._descriptor)

    def _page(self, offset: int) -> ctypes.Array[ctypes.c_uint32]:
        if self._words is None or offset & 3:
            raise ValueError(f"register 0x{offset:x}: {'unaligned' if self._words else 'the page is closed'}")
        return self._words


class SystemFiles:
    """The file system of this machine."""

    def open(self, path: Path) -> SystemFile:
        """Open for repeated reading."""
        return SystemFile(path)

    def read(self, path: Path) -> bytes:
        """The whole content of a small file."""
        return path.read_bytes()

    def write(self, path: Path, data: bytes) -> None:
        """Replace the file in one step, so that a crash leaves the old content or the new."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_bytes(data)
        draft.replace(path)

    def names(self, path: Path) -> list[str]:
        """The sorted names in a folder."""
        return sorted(os.listdir(path))  # noqa: PTH208 - names are wanted, not a Path each

    def resolve(self, path: Path) -> Path:
        """The path with every symbolic link followed; FileNotFoundError if it leads nowhere."""
        return path.resolve(strict=True)

    def map_registers(self, path: Path, length: int) -> MappedRegisters:
        """Map a UIO node under an exclusive lock."""
        return MappedRegisters(path, length)


def load_files(name: str | None) -> Files:
    """The file access called `module:callable`, or the system's own for None; ConfigError if there is no such."""
    if name is None:
        return SystemFiles()
    module, _, attribute = name.partition(":")
    try:
        opener = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"file access {name!r} cannot be loaded ({error}); expected MODULE:CALLABLE") from error
    files: Files = opener()
    return files


def _lock(descriptor: int, path: Path) -> None:
    """Take the exclusive lock that tells two observers apart; it vanishes with the process, whatever kills it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise SensorNotFound(f"{path} is in use by {_lock_holder(descriptor)}; stop it first") from error


def _lock_holder(descriptor: int) -> str:
    """Who holds the lock, by inode in /proc/locks (`1: FLOCK ADVISORY WRITE PID MAJ:MIN:INODE 0 EOF`)."""
    inode = str(os.fstat(descriptor).st_ino)
    try:
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[-3].rpartition(":")[2] == inode:
                command = Path("/proc", fields[-4], "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"process {fields[-4]} ({command})"
    except (OSError, IndexError):
        pass
    return "another process (another kvbench or kv260-telemetry?)"
