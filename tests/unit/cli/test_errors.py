"""Every fault a user can cause ends in one line and a documented exit code, and leaves nothing half-written."""

from __future__ import annotations

import pytest

from kv260_runtime.cli.main import main
from kv260_runtime.errors import ExitCode
from kv260_runtime.xmodel import write_xmodel
from tests.unit.profile.small_model import small_compiled_graph


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "small.xmodel"
    write_xmodel(small_compiled_graph(), path)
    return path


@pytest.fixture
def fails(capsys):
    """Run a command that must fail, and give its only line with the exit code."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ending:
            code = ending.code
        printed = capsys.readouterr()
        lines = printed.err.strip().splitlines()
        assert printed.out == ""
        assert "usage:" not in printed.err
        assert "Traceback" not in printed.err
        return ExitCode(code), lines[-1]

    return run


def test_profiling_nothing_is_a_usage_error(fails):
    code, line = fails("profile")

    assert code == ExitCode.USAGE
    assert "name a MODEL" in line


def test_an_unknown_command_is_a_usage_error(fails):
    code, line = fails("prolife")

    assert code == ExitCode.USAGE
    assert "prolife" in line
    assert "did you mean 'profile'?" in line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["profile", "--bord", "virtual"], "unknown option '--bord'; did you mean '--board'?"),
        (["report", "x.kvs", "--format", "htm"], "unknown 'htm'; did you mean 'html'?"),
        (["replay", "a.kvs", "b.kvs"], "unexpected argument 'b.kvs'"),
    ],
)
def test_a_word_that_no_command_knows_is_one_line_with_the_nearest(fails, arguments, told):
    code, line = fails(*arguments)

    assert code == ExitCode.USAGE
    assert line.startswith(f"kvbench {arguments[0]}: ")
    assert told in line


@pytest.mark.parametrize("option", [["--runs", "0"], ["--duration", "nan"], ["--threads", "x"], ["--order", "random"]])
def test_a_value_out_of_range_is_a_usage_error_that_names_it(fails, model, option):
    code, line = fails("profile", model, *option)

    assert code == ExitCode.USAGE
    assert option[0] in line
    assert option[1] in line


def test_a_trim_that_leaves_nothing_is_said_before_anything_starts(fails, model):
    code, line = fails("profile", model, "--duration", "2", "--trim", "1")

    assert code == ExitCode.USAGE
    assert "--trim 1 leaves nothing of --duration 2" in line


def test_a_missing_model_is_named(fails, tmp_path):
    code, line = fails("profile", tmp_path / "none.xmodel", "--board", "virtual")

    assert code == ExitCode.NO_INPUT
    assert line == f"kvbench: {tmp_path / 'none.xmodel'}: no such file"


def test_a_truncated_model_is_refused_in_one_line(fails, tmp_path, model):
    cut = tmp_path / "cut.xmodel"
    cut.write_bytes(model.read_bytes()[:-7])

    code, line = fails("profile", cut, "--board", "virtual")

    assert code == ExitCode.BAD_DATA
    assert str(cut) in line


def test_a_file_that_is_no_model_is_refused_in_one_line(fails, tmp_path):
    text = tmp_path / "notes.xmodel"
    text.write_text("this is no XModel\n" * 100)

    code, line = fails("profile", text, "--board", "virtual")

    assert code == ExitCode.BAD_DATA
    assert str(text) in line


def test_a_machine_that_is_no_board_is_told_of_the_virtual_one_and_nothing_falls_back(fails, model, tmp_path):
    session = tmp_path / "s.kvs"

    code, line = fails("profile", model, "--out", session)

    assert code == ExitCode.UNAVAILABLE
    assert "--board virtual" in line
    assert not session.exists()


def test_an_unknown_board_names_the_known_ones(fails, model):
    code, line = fails("profile", model, "--board", "kv261")

    assert code == ExitCode.CONFIG
    assert "kv260" in line


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--board", "virtula"], "did you mean 'virtual'? known: virtual, auto, jetson-orin-nx, kv260, linux"),
        (["--board", "virtual", "--board-option", "foo=1"], "no option 'foo'; known: seed, draw, fault"),
        (["--board", "virtual", "--board-option", "sed=1"], "no option 'sed'; did you mean seed?"),
    ],
)
def test_an_unknown_board_or_option_of_one_names_the_nearest_or_all(fails, model, option, told):
    assert told in fails("profile", model, *option)[1]


def test_a_session_file_that_exists_is_never_overwritten(fails, model, tmp_path):
    session = tmp_path / "s.kvs"
    session.write_text("precious")

    code, line = fails("profile", model, "--board", "virtual", "--out", session)

    assert code == ExitCode.CANNOT_CREATE
    assert str(session) in line
    assert session.read_text() == "precious"


def test_an_unwritable_folder_is_named(fails, model, tmp_path):
    session = tmp_path / "no" / "such" / "folder" / "s.kvs"

    code, line = fails("profile", model, "--board", "virtual", "--out", session)

    assert code == ExitCode.CANNOT_CREATE
    assert str(session) in line
    assert not (tmp_path / "no").exists()


def test_a_report_of_something_else_says_so(fails, tmp_path):
    other = tmp_path / "x.kvs"
    other.write_text("no session")

    code, line = fails("report", other)

    assert code == ExitCode.BAD_DATA
    assert str(other) in line


def test_patterns_without_a_command_are_a_usage_error(fails, model):
    code, line = fails("profile", model, "--begin", "x")

    assert code == ExitCode.USAGE
    assert "-- COMMAND" in line


def test_a_command_for_a_model_must_say_where_the_model_goes(fails, model):
    code, line = fails("profile", model, "--", "true")

    assert code == ExitCode.USAGE
    assert "{model}" in line


def test_a_bad_pattern_is_said_before_anything_starts(fails):
    code, line = fails("profile", "--begin", "(", "--end", "x", "--board", "virtual", "--", "true")

    assert code == ExitCode.USAGE
    assert "begin pattern" in line


@pytest.mark.parametrize("command", ["report", "replay", "export", "compare", "fold", "external"])
def test_every_command_tells_a_missing_session_from_a_damaged_one(fails, tmp_path, command):
    meter = tmp_path / "meter.csv"
    meter.write_text("time,power\n" + "".join(f"{second},1\n" for second in range(9)))
    rest = {"external": ["--csv", meter, "--boundary", "12 V"], "export": ["--out", tmp_path / "out"]}.get(command, [])
    empty = tmp_path / "empty.kvs"
    empty.touch()

    assert fails(command, tmp_path / "no.kvs", *rest)[0] == ExitCode.NO_INPUT
    assert fails(command, tmp_path, *rest)[0] == ExitCode.NO_INPUT
    assert fails(command, empty, *rest)[0] == ExitCode.BAD_DATA


@pytest.mark.parametrize("command", ["inspect", "profile", "run", "verify"])
def test_every_command_says_the_same_of_a_name_that_is_no_file(fails, tmp_path, command):
    rest = {"run": ["--input", "x.npz", "--output", "y.npz"]}.get(command, [])

    assert fails(command, tmp_path, *rest) == (
        ExitCode.NO_INPUT,
        f"kvbench: {tmp_path}: is a folder; name an .xmodel file",
    )
    code, line = fails(command, "/dev/null", *rest)
    assert (code, "is a device or a pipe" in line) == (ExitCode.NO_INPUT, True)
    code, line = fails(command, "", *rest)
    assert (code, "the file name is empty" in line) == (ExitCode.USAGE, True)


def test_an_empty_name_for_the_session_is_a_usage_error(fails, model):
    code, line = fails("profile", model, "--out", "")

    assert code == ExitCode.USAGE
    assert "--out: the file name is empty" in line


def test_inputs_that_are_no_arrays_are_said_before_anything_starts(fails, model, tmp_path):
    text = tmp_path / "bad.npz"
    text.write_text("no arrays")

    code, line = fails("profile", model, "--input", text, "--board", "virtual")

    assert code == ExitCode.BAD_DATA
    assert line == f"kvbench: {text}: is no .npz of plain arrays; numpy.savez writes one"


def test_a_program_that_does_not_exist_is_said_before_anything_starts(fails):
    code, line = fails("profile", "--board", "virtual", "--", "/nonexistent")

    assert code == ExitCode.NO_INPUT
    assert "/nonexistent: no such program" in line


def test_control_characters_in_the_name_of_a_model_are_spelt_out(model, tmp_path, capsys):
    odd = tmp_path / "a\nb\x1b[2J.xmodel"
    model.rename(odd)

    assert main(["inspect", str(odd)]) == ExitCode.OK
    printed = capsys.readouterr().out
    assert r"a\nb\x1b[2J.xmodel" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "at most 120 printable characters: ''"),
        ("two words", "has no space"),
        ("tab\there", "printable"),
        ("x" * 121, "at most 120 printable characters"),
    ],
)
def test_a_bad_name_of_a_mark_is_a_usage_error_also_without_a_service(fails, tmp_path, name, told):
    code, line = fails("mark", name, "--socket", tmp_path / "nobody")

    assert code == ExitCode.USAGE
    assert told in line
