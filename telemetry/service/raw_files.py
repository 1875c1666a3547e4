"""The file of raw samples that the service may keep, and those of earlier recorders beside it: FILE.1, FILE.2, ..."""

from __future__ import annotations

import re
from pathlib import Path

from telemetry.errors import CannotCreate, SessionError
from telemetry.session import SessionLog, SessionReader, owner

KEY, OURS = "recorder", "kv260-telemetry"
"""In the session's metadata: what tells the service's files from all others."""


def fresh(path: Path, earlier_bytes: int | None) -> SessionLog:
    """A new session at `path`; CLOCK_MONOTONIC may have begun anew since an earlier one, which gets the next number.

    Of earlier ones the newest stay that have at most `earlier_bytes` together. Raises CannotCreate if what stands at
    `path` is not the service's, is being written, or its folder is missing.
    """
    if not path.parent.is_dir():
        raise CannotCreate(f"{path}: there is no folder {path.parent}; make it first")
    if path.exists() or path.is_symlink():
        _set_aside(path)
    if earlier_bytes is not None:
        _bound(path, earlier_bytes)
    log = SessionLog.create(path)
    log.put_meta(KEY, OURS)
    return log


def _set_aside(path: Path) -> None:
    if not _is_ours(path):
        raise CannotCreate(f"{path}: is there already and no raw file of kv260-telemetry; name another with --raw")
    SessionLog.open(path).close()  # folds in the log that a kill left beside it
    number = max(_numbered(path), default=0) + 1
    for suffix in ("-wal", "-shm", ""):  # the first two if somebody reads it now
        lying = Path(f"{path}{suffix}")
        if lying.exists():
            lying.rename(f"{path}.{number}{suffix}")


def _bound(path: Path, most_bytes: int) -> None:
    """Delete the oldest of the service's own."""
    total_bytes = 0
    for _, earlier in sorted(_numbered(path).items(), reverse=True):
        if not _is_ours(earlier):
            continue
        total_bytes += earlier.stat().st_size
        if total_bytes > most_bytes:
            earlier.unlink()


def _numbered(path: Path) -> dict[int, Path]:
    """Whatever has the name of an earlier file."""
    pattern = re.compile(re.escape(path.name) + r"\.([1-9][0-9]{0,17})")
    found = ((pattern.fullmatch(entry.name), entry) for entry in path.parent.iterdir())
    return {int(match[1]): entry for match, entry in found if match}


def _is_ours(path: Path) -> bool:
    """Whether it is a session of this service; CannotCreate if another process writes it now."""
    if path.is_symlink():
        return False
    try:
        reader = SessionReader(path)
        try:
            meta = reader.meta()
        finally:
            reader.close()
    except SessionError:
        return False
    writer = meta.get(owner.KEY, {})
    if meta.get(KEY) == OURS and owner.lives(writer) and writer != owner.this_process():
        raise CannotCreate(f"{path}: process {writer['pid']} records there; name another with --raw")
    return meta.get(KEY) == OURS
