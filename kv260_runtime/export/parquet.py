"""Raw samples as a folder of Parquet files, units in the fields' metadata; needs pyarrow, which is an extra."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.export.csv import MANIFEST
from kv260_runtime.export.folder import new_folder
from kv260_runtime.export.tables import Table, manifest, runs, tables
from telemetry.session.reader import SessionReader

if TYPE_CHECKING:
    import pyarrow as pa


def write(source: SessionReader, names: Sequence[str], out: Path) -> None:
    """Create folder `out` with a file a table and the manifest. Raises KvbenchError if pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise KvbenchError("Parquet needs pyarrow: pip install 'kvbench[parquet]'", ExitCode.UNAVAILABLE) from None
    exported = tables(source, names)
    with new_folder(out):
        for table in exported:
            schema = _schema(pa, table)
            with parquet.ParquetWriter(out / f"{table.name}.parquet", schema, compression="zstd") as writer:
                for piece in table.pieces():
                    length = next(column.size for column in piece if column is not None)
                    columns = [pa.nulls(length) if column is None else pa.array(column) for column in piece]
                    cast = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
                    writer.write_table(pa.Table.from_arrays(cast, schema=schema))
        parquet.write_table(pa.Table.from_pylist(runs(source)), out / "runs.parquet")
        (out / MANIFEST).write_text(json.dumps(manifest(source, exported), indent=2, ensure_ascii=False) + "\n")


def _schema(pa: Any, table: Table) -> pa.Schema:  # noqa: ANN401  the module, imported only when this format is used
    types = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string()}
    return pa.schema([pa.field(field.name, types[field.kind], metadata={"unit": field.unit}) for field in table.fields])
