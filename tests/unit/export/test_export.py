"""Exports hold every sample exactly, with units, and appear whole or not at all."""

from __future__ import annotations

import csv
import json
from contextlib import closing

import jsonschema
import numpy as np
import pytest

from kv260_runtime.cli.main import main
from kv260_runtime.errors import ExitCode
from kv260_runtime.export import FORMATS, tables, writer
from telemetry.model import Column, Gap, Stream
from telemetry.session.log import RunInfo, SessionLog
from telemetry.session.reader import SessionReader
from telemetry.session.writer import ChunkWriter
from tests.unit.report.sessions import write_session

BATTERY = Stream("power.battery", "battery", 10**9, (Column("watts", "W", "gauge"),))
"""A stream that never had a sample."""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "two.kvs"
    write_session(path)
    with closing(ChunkWriter(path, [BATTERY])) as added:
        added.gap("power.battery", Gap(5, 7, 'EBUSY, "really"', 3))
    return path


@pytest.fixture
def exported(session, tmp_path):
    """Export in a format, and give the path of what was written."""

    def export(form, *names):
        with SessionReader(session) as source:
            writer(form)(source, names, tmp_path / form)
        return tmp_path / form

    return export


def stored(session, name):
    with SessionReader(session) as source:
        return source.series(name)


def read_csv(path):
    with path.open(newline="") as stream:
        head, *rows = csv.reader(stream)
    return head, rows


def test_csv_has_every_sample_to_the_last_digit_under_its_unit(session, exported):
    head, rows = read_csv(exported("csv") / "power.som.csv")
    series = stored(session, "power.som")

    assert head == ["t_ns [ns]", "late_ns [ns]", "watts [W]"]
    assert [int(row[0]) for row in rows] == series.t_ns.tolist()
    assert [float(row[2]) for row in rows] == series.values["watts"].tolist()


def test_csv_has_runs_markers_executions_and_gaps(session, exported):
    folder = exported("csv")

    assert [row[1:6] for row in read_csv(folder / "runs.csv")[1]][-1] == ["a", "formal", "1", "1", "False"]
    assert read_csv(folder / "markers.csv")[1] == [["1", "1002000000000", "begin"]]
    assert read_csv(folder / "gaps.csv")[1] == [["power.battery", "5", "7", 'EBUSY, "really"', "3"]]
    executions = read_csv(folder / "executions.csv")[1]
    assert len(executions) == 4 * 300
    assert {int(end) - int(start) for _, start, end in executions} == {20_000_000}


def test_npz_has_every_column_as_an_array(session, exported):
    with np.load(exported("npz")) as found:
        for name in ("cu", "apm", "cpu"):
            series = stored(session, name)
            assert np.array_equal(found[f"{name}/t_ns"], series.t_ns)
            for column, values in series.values.items():
                assert np.array_equal(found[f"{name}/{column}"], values)
                assert found[f"{name}/{column}"].dtype == values.dtype
        assert found["gaps/reason"].tolist() == ['EBUSY, "really"']
        assert json.loads(found["manifest"].item())["kind"] == "kvbench export"


def test_parquet_has_every_column_with_its_unit(session, exported):
    parquet = pytest.importorskip("pyarrow.parquet")

    folder = exported("parquet")
    table = parquet.read_table(folder / "power.som.parquet")
    series = stored(session, "power.som")
    assert table["watts"].to_pylist() == series.values["watts"].tolist()
    assert table["t_ns"].to_pylist() == series.t_ns.tolist()
    assert table.schema.field("watts").metadata == {b"unit": b"W"}
    assert parquet.read_table(folder / "runs.parquet").num_rows == 5
    assert parquet.read_table(folder / "power.battery.parquet").num_rows == 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_starts_that_nobody_stamped_are_blank(form, tmp_path):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / "ends.kvs"
    with closing(SessionLog.create(path)) as log:
        log.executions(log.start_run(RunInfo("m", "formal", 0, 0)), None, [10, 20])
    with SessionReader(path) as source:
        writer(form)(source, [], tmp_path / "ends")

    if form == "csv":
        assert read_csv(tmp_path / "ends/executions.csv")[1] == [["1", "", "10"], ["1", "", "20"]]
    else:
        from pyarrow import parquet

        assert parquet.read_table(tmp_path / "ends/executions.parquet")["start_ns"].to_pylist() == [None, None]


def test_pieces_join_to_the_whole_stream_once(session, monkeypatch):
    monkeypatch.setattr(tables, "SAMPLES_AT_ONCE", 777)
    with SessionReader(session) as source:
        [cu] = [table for table in tables.tables(source, ["cu"]) if table.name == "cu"]
        pieces = [piece[0] for piece in cu.pieces()]

    assert len(pieces) > 10
    assert np.array_equal(np.concatenate(pieces), stored(session, "cu").t_ns)


def test_only_the_streams_that_were_named_are_written(exported):
    names = {path.stem for path in exported("csv", "cpu").glob("*.csv")}

    assert "cpu" in names and "cu" not in names and "executions" in names


def test_the_manifest_keeps_to_its_published_schema(exported, repository):
    schema = json.loads((repository / "docs/schemas/export.schema.json").read_text())

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads((exported("csv") / "session.json").read_text()), schema)


def run(capsys, *words):
    code = main([str(word) for word in words])
    return ExitCode(code), capsys.readouterr()


def test_the_command_writes_to_a_path_and_prints_no_data(session, tmp_path, capsys):
    code, printed = run(capsys, "export", session, "--format", "npz", "--out", tmp_path / "s.npz")

    assert code == ExitCode.OK
    assert printed.out == "" and "s.npz" in printed.err
    assert (tmp_path / "s.npz").is_file()


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_what_exists_already_is_left_alone(session, tmp_path, capsys, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "taken").write_text("mine")

    code, printed = run(capsys, "export", session, "--format", form, "--out", tmp_path / "taken")

    assert code == ExitCode.CANNOT_CREATE
    assert "taken exists already" in printed.err
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_stream_that_is_not_there_is_named_with_those_that_are_and_nothing_is_left(session, tmp_path, capsys, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")

    code, printed = run(capsys, "export", session, "--format", form, "--stream", "pwer", "--out", tmp_path / "x")

    assert code == ExitCode.USAGE
    assert "'pwer'" in printed.err and "power.som" in printed.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["csv", "npz"])
def test_an_export_that_fails_half_way_leaves_nothing(session, tmp_path, form, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SessionReader, "executions", full)

    code, printed = run(capsys, "export", session, "--format", form, "--out", tmp_path / "x")

    assert code == ExitCode.IO_ERROR
    assert "No space left on device" in printed.err
    assert list(tmp_path.iterdir()) == []
