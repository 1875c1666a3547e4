"""Raw samples as one NPZ file: an array a column under `TABLE/COLUMN`, and the manifest as JSON under `manifest`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kv260_runtime.export.folder import new_file
from kv260_runtime.export.tables import Table, Values, manifest, tables
from telemetry.session.reader import SessionReader

NUMPY_TYPES = {"integer": np.int64, "real": np.float64, "text": np.str_}


def write(source: SessionReader, names: Sequence[str], out: Path) -> None:
    """Create file `out`, to be read with numpy.load. Runs are in the manifest, which is text (`.item()`)."""
    exported = tables(source, names)
    with new_file(out), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        _add(archive, "manifest", np.array(json.dumps(manifest(source, exported), ensure_ascii=False)))
        for table in exported:
            for name, values in _columns(table).items():
                _add(archive, f"{table.name}/{name}", values)


def _columns(table: Table) -> dict[str, Values]:
    """All rows of a table by column; a column that is unknown in some rows is left out, since an array has no blank."""
    pieces = list(table.pieces())
    found = {}
    for place, field in enumerate(table.fields):
        parts = [piece[place] for piece in pieces]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            found[field.name] = np.concatenate(known) if known else np.empty(0, NUMPY_TYPES[field.kind])
    return found


def _add(archive: zipfile.ZipFile, name: str, values: Values) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
        np.lib.format.write_array(stream, values, allow_pickle=False)
