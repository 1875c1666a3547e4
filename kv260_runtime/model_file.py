"""Opens a model that a user names: every command says the same of a name that is no model file."""

from __future__ import annotations

import os
from pathlib import Path

from kv260_runtime.errors import ExitCode, ModelRejected
from kv260_runtime.xmodel import Graph, XModelError, read_xmodel


def open_model(path: Path) -> Graph:
    """The graph in a model file.

    Raises ModelRejected in one line: NO_INPUT if there is no file to read, BAD_DATA if what is in it is no model.
    """
    if path.is_dir():
        raise ModelRejected(f"{path}: is a folder; name an .xmodel file", ExitCode.NO_INPUT)
    if not path.exists():
        raise ModelRejected(f"{path}: no such file", ExitCode.NO_INPUT)
    if not path.is_file():
        raise ModelRejected(f"{path}: is a device or a pipe; name an .xmodel file", ExitCode.NO_INPUT)
    if not os.access(path, os.R_OK):
        raise ModelRejected(f"{path}: this user may not read it; chmod +r", ExitCode.NO_INPUT)
    try:
        return read_xmodel(path)
    except XModelError as error:
        raise ModelRejected(str(error)) from error
