"""Files of power meters in many dialects."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.external.columns import Columns, parse_columns
from kv260_runtime.external.meter_file import LONGEST_LINE, MOST_BYTES, MeterFileError, parse_readings, read_readings

SECOND = 1_000_000_000


def parse(text, columns="time=time,power=power"):
    return parse_readings(text, "meter.csv", parse_columns(columns))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("time,power\n0,5\n1,6\n2,7\n3,8\n", "time=time,power=power"),
        ("0,5\n1,6\n2,7\n3,8\n", "time=1,power=2"),
        ("s;W\n0,0;5,0\n1,0;6,0\n2,0;7,0\n3,0;8,0\n", "time=s,power=W"),
        ("Time (s)\tP\n0\t5\n1\t6\n2\t7\n3\t8\n", "time=time (s),power=P"),
        (",tiempo,potencia\n0,10,5000\n1,11,6000\n2,12,7000\n3,13,8000\n", "time=tiempo,power=potencia,unit=mW"),
        ("t,u,i\n0,5,1000\n1000,5,1200\n2000,5,1400\n3000,5,1600\n",
         "time=t,time_unit=ms,volts=u,amperes=i,amperes_unit=mA"),
        ("\ufeff# a logger\n\n\"time\", \"power\"\n0, 5\n1, 6\n\n2, 7\n3, 8\n", "time=time,power=power"),
        ("when,power\n" + "".join(f"2026-01-31T23:59:{57 + i}.5Z,{5 + i}\n" for i in range(3)) +
         "2026-02-01T00:00:00.500000,8\n", "time=when,power=power"),
        ("2026-01-31 12:00:00+0100;5\n2026-01-31 12:00:01+01:00;6\n2026-01-31 12:00:02+01:00;7\n2026-01-31 11:00:03Z;8",
         "time=1,power=2"),
    ],
    ids=["plain", "no header", "semicolon", "tab", "shared", "volts", "comments", "stamps", "zones"],
)  # fmt: skip
def test_one_and_the_same_series_in_many_dialects(text, columns):
    readings = parse(text.lstrip("\ufeff"), columns)

    assert readings.t_ns.tolist() == [0, SECOND, 2 * SECOND, 3 * SECOND]
    assert readings.watts == pytest.approx([5, 6, 7, 8])
    assert readings.period_ns == SECOND


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("time,power\n0,5\n1,five\n", 3, "power is 'five', not a number"),
        ("time,power\n0,5\n1,\n", 3, "power is '', not a number"),
        ("time,power\n0,5\n1,nan\n", 3, "power is 'nan', not a number"),
        ("time,power\n0,5\n\n1\n", 4, "1 cells, 2 needed"),
        ("time,power\n0,5\nnoon,5\n", 3, "time is 'noon', not a number"),
        ("time,power\n2026-01-31T12:00:00,5\n1,5\n", 3, "time is '1', not a date stamp"),
        ("time,power\n2026-02-31T12:00:00,5\n", 2, "not a date stamp"),
        ("time,power\n0,5\n2,5\n1,5\n", 4, "time does not advance"),
        ("time,power\n0,5\n0,5\n", 3, "time does not advance"),
        ("time,power\n0,5\n1,inf\n", 3, "power is 'inf', not a number"),
        ("time,power\n0,5\n1,1000001\n", 3, "at most 1e.06 W are taken"),
        ("time,power\n0,5\n1,-1e300\n", 3, "-1e.300 W, at most"),
        ("time,power\n0,5\n1.1e12,5\n", 3, "time is '1.1e12', beyond 1e.12 s"),
        ("time,power\n-1e305,5\n", 2, "time is '-1e305', beyond"),
        ("time,power\n0,5\n2e9,5\n", 3, "2e.09 s after the first reading"),
        ("time,power\n0,5\n1," + "5" * LONGEST_LINE + "\n", 3, "characters in a line, at most 65536"),
    ],
)
def test_a_bad_line_is_named(text, line, complaint):
    with pytest.raises(MeterFileError, match=complaint) as caught:
        parse(text)
    assert str(caught.value).startswith(f"meter.csv:{line}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no lines"),
        ("time,power\n", "0 readings"),
        ("time,power\n0,5\n1,5\n2,5\n", "3 readings, at least 4"),
        ("a,b\n0,5\n", "no column 'time' for time; the first line has: a, b"),
    ],
)
def test_a_file_that_holds_no_series_is_refused(text, complaint):
    with pytest.raises(MeterFileError, match=complaint):
        parse(text)


@given(st.text(max_size=200))
def test_any_text_is_readings_or_one_line(text):
    try:
        readings = parse(text, "time=1,power=2")
    except KvbenchError as error:
        assert "\n" not in str(error) and "\r" not in str(error)
    else:
        assert np.all(np.diff(readings.t_ns) > 0) and np.all(np.isfinite(readings.watts))


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1e4)), min_size=4, max_size=40),
    st.sampled_from([(",", "."), (";", ","), (";", "."), ("\t", ",")]),
)
def test_what_is_written_is_read(rows, dialect):
    delimiter, point = dialect
    t_ms = np.cumsum([row[0] for row in rows])
    lines = [f"{t}{delimiter}{row[1]!r}".replace(".", point) for t, row in zip(t_ms, rows, strict=True)]
    readings = parse("\n".join(lines), "time=1,time_unit=ms,power=2")

    assert readings.t_ns.tolist() == [(t - t_ms[0]) * 1_000_000 for t in t_ms.tolist()]
    assert readings.watts.tolist() == [row[1] for row in rows]


@pytest.mark.parametrize("text", ["", "time", "time=", "tme=1", "unit=J", "volts=1", "power=1,volts=2,amperes=3"])
def test_columns_that_cannot_be_meant_are_refused(text):
    with pytest.raises(KvbenchError) as caught:
        parse_columns(text)
    assert caught.value.exit_code == ExitCode.USAGE


def test_columns_default_to_time_and_power():
    assert parse_columns("unit=mW") == Columns(unit="mW")
    assert Columns().scale("power") == 1.0 and math.isclose(parse_columns("unit=mW").scale("power"), 1e-3)


@pytest.mark.shared
@pytest.mark.parametrize("trace", ["CNN", "CNV"])
def test_traces_of_a_real_board_are_read_as_they_are(shared_dir, trace):
    path = shared_dir / f"traces/kv260_ina260_pm_{trace}_int8.csv"
    readings = read_readings(path, parse_columns("time=tiempo,power=potencia,unit=mW"))

    assert readings.watts.size == 198
    assert readings.period_ns == pytest.approx(0.1 * SECOND, rel=0.02)
    assert 5.0 <= readings.watts.min() < 5.1


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(KvbenchError, match="cannot be read"):
        read_readings(Path(tmp_path / "gone.csv"), Columns())


def test_volts_times_amperes_beyond_any_number_are_refused():
    with pytest.raises(MeterFileError, match=r"^meter\.csv:2: inf W"):
        parse("time,u,i\n0,1e200,1e200\n", "time=time,volts=u,amperes=i")


def test_times_whose_nanoseconds_exceed_64_bits_keep_their_differences_as_well_as_a_float_holds_them():
    lines = "".join(f"{10**11 + second},5\n" for second in range(4))
    found = parse(lines, "time=1,power=2").t_ns
    assert found == pytest.approx([0, SECOND, 2 * SECOND, 3 * SECOND], abs=math.ulp(1e20))


def test_only_a_regular_file_is_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path(os.devnull)):
        with pytest.raises(KvbenchError, match="not a regular file") as caught:
            read_readings(path, Columns())
        assert caught.value.exit_code == ExitCode.NO_INPUT


def test_a_file_too_large_to_hold_is_not_read(tmp_path):
    path = tmp_path / "meter.csv"
    path.touch()
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(MeterFileError, match="at most 1073741824 are read") as caught:
        read_readings(path, Columns())
    assert caught.value.exit_code == ExitCode.BAD_DATA
