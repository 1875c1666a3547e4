"""Output that appears whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kv260_runtime.errors import ExitCode, KvbenchError


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """A folder that must not exist yet; removed again if writing into it fails."""
    with _one_line(path):
        path.mkdir()
    try:
        with _one_line(path, ExitCode.IO_ERROR):
            yield
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


@contextmanager
def new_file(path: Path) -> Iterator[None]:
    """A file that must not exist yet, to be opened by its path inside; removed again if writing it fails."""
    with _one_line(path):
        path.open("xb").close()
    try:
        with _one_line(path, ExitCode.IO_ERROR):
            yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _one_line(path: Path, code: ExitCode = ExitCode.CANNOT_CREATE) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise KvbenchError(f"{path} exists already; remove it or name another --out", code) from None
    except OSError as error:
        raise KvbenchError(f"cannot write {path}: {error.strerror or error}", code) from error
