"""`kvbench run`: from a file of arrays or a picture to a file of arrays, and one line for every fault."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from kv260_runtime.cli.main import main
from kv260_runtime.cli.run import FIX_POINTS, load_arrays, save_arrays
from kv260_runtime.errors import ExitCode
from kv260_runtime.execute import open_executor
from kv260_runtime.execute.operators import custom
from kv260_runtime.xmodel import write_xmodel
from tests.unit.execute.graphs import Builder, int8
from tests.unit.execute.test_plan import chain

IMAGE = int8(np.random.default_rng(13), (1, 4, 4, 2))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.xmodel"
    write_xmodel(chain().graph(), path)
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    path = tmp_path / "in.npz"
    np.savez(path, x_fix=IMAGE)
    return path


def run(model: Path, source: Path, output: Path, *options: str) -> int:
    words = ["run", str(model), "--input", str(source), "--output", str(output), "--backend", "integer", *options]
    return main(words)


def test_outputs_are_written_by_tensor_name_with_their_fix_points(model: Path, inputs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.npz"
    assert run(model, inputs, output, "--tensors", "p_fix,y_fix") == ExitCode.OK
    expected = open_executor(chain().graph(), backend="integer", keep=["p_fix"]).run({"x_fix": IMAGE})
    with np.load(output, allow_pickle=False) as archive:
        assert set(archive.files) == {"p_fix", "y_fix", FIX_POINTS}
        assert json.loads(str(archive[FIX_POINTS])) == {"p_fix": 4}
        for name, values in expected.items():
            assert archive[name].dtype == values.dtype
            np.testing.assert_array_equal(archive[name], values)


def test_all_computed_tensors_can_be_had(
    model: Path, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(model, inputs, tmp_path / "out.npz", "--tensors", "all") == ExitCode.OK
    assert set(load_arrays(tmp_path / "out.npz")) == {"c_fix", "p_fix", "y_fix"}
    assert capsys.readouterr().out.splitlines()[-1] == "p_fix  1x2x2x3  int8  fix point 4"


def test_equal_runs_give_equal_bytes_and_replace_the_old_file(model: Path, inputs: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    second.write_bytes(b"old")
    assert run(model, inputs, first) == run(model, inputs, second) == ExitCode.OK
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz", "in.npz", "small.xmodel"]


def test_a_written_file_is_an_input_again(model: Path, inputs: Path, tmp_path: Path) -> None:
    """A tensor may be called `file`, which numpy.savez cannot store."""
    graph = Builder()
    graph.input((1, 4), 3, "file")
    graph.ops[0].tensor.name = "file"
    graph.add("y", "download", (1, 4), {"input": ["file"]}, 3)
    graph.ops[1].tensor.name = "file2"
    write_xmodel(graph.graph(), model)
    save_arrays(inputs, {"file": np.arange(4, dtype=np.int8)[None]}, {"file": 3})
    assert run(model, inputs, tmp_path / "out.npz") == ExitCode.OK
    assert load_arrays(tmp_path / "out.npz")["file2"].tolist() == [[0, 1, 2, 3]]


def test_a_batch_along_axis_0_is_run_item_by_item(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x_fix=np.concatenate([IMAGE, ~IMAGE]))
    assert run(model, tmp_path / "in.npz", tmp_path / "out.npz") == ExitCode.OK
    assert load_arrays(tmp_path / "out.npz")["y_fix"].shape == (2, 2, 2, 3)


def fault(code: int, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error."""
    captured = capsys.readouterr()
    assert code != ExitCode.OK
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("kvbench: ").strip()


def test_an_archive_without_the_input_is_refused(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "in.npz", other=IMAGE)
    code = run(model, tmp_path / "in.npz", tmp_path / "out.npz")
    assert code == ExitCode.BAD_DATA
    assert "has no input 'other'; its inputs: 'x_fix'" in fault(code, capsys)
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (IMAGE.astype(np.float32), "'x_fix' is float32, int8 expected"),
        (IMAGE[:, :2], "has the shape [1, 2, 4, 2], [1, 4, 4, 2] expected"),
    ],
)
def test_an_array_of_the_wrong_kind_is_refused(
    model: Path, tmp_path: Path, values: object, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "in.npz", x_fix=values)
    code = run(model, tmp_path / "in.npz", tmp_path / "out.npz")
    assert code == ExitCode.BAD_DATA
    assert message in fault(code, capsys)


def test_an_archive_that_needs_pickle_is_refused(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "in.npz", x_fix=np.array([{}], object))
    code = run(model, tmp_path / "in.npz", tmp_path / "out.npz")
    assert code == ExitCode.BAD_DATA
    assert "is no .npz of plain arrays" in fault(code, capsys)


def test_a_truncated_archive_is_refused(
    model: Path, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(inputs.read_bytes())
    data[60] ^= 0xFF
    inputs.write_bytes(data)
    code = run(model, inputs, tmp_path / "out.npz")
    assert code == ExitCode.BAD_DATA
    assert "is no .npz of plain arrays" in fault(code, capsys)


def test_missing_files_are_named(model: Path, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(tmp_path / "absent.xmodel", inputs, tmp_path / "out.npz")
    assert code == ExitCode.NO_INPUT
    assert "absent.xmodel: no such file" in fault(code, capsys)
    code = run(model, tmp_path / "absent.npz", tmp_path / "out.npz")
    assert code == ExitCode.NO_INPUT
    assert "absent.npz: no such input file" in fault(code, capsys)


def test_an_output_that_cannot_be_created_leaves_nothing_behind(
    model: Path, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(model, inputs, tmp_path / "no" / "out.npz")
    assert code == ExitCode.CANNOT_CREATE
    assert "no/out.npz: cannot be created: No such file" in fault(code, capsys)
    (tmp_path / "folder").mkdir()
    code = run(model, inputs, tmp_path / "folder")
    assert code == ExitCode.CANNOT_CREATE
    assert "folder: exists and is no ordinary file" in fault(code, capsys)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "in.npz", "small.xmodel"]


def test_a_subgraph_that_is_not_there_is_refused(
    model: Path, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(model, inputs, tmp_path / "out.npz", "--subgraph", "3")
    assert code == ExitCode.BAD_DATA
    assert "has no subgraph 3; it has 0" in fault(code, capsys)


def test_a_module_may_bring_custom_operators(
    model: Path, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = chain()
    graph.add("z", "Twice", (1, 2, 2, 3), {"input": ["y"]})
    write_xmodel(graph.graph(), model)
    code = run(model, inputs, tmp_path / "out.npz")
    assert code == ExitCode.BAD_DATA
    assert "'Twice' (1)" in fault(code, capsys)
    monkeypatch.setattr(custom, "_FUNCTIONS", {})
    monkeypatch.syspath_prepend(str(tmp_path))
    text = "from kv260_runtime.execute import register_operator\nregister_operator('Twice', lambda a, *_: a[0] * 2)\n"
    (tmp_path / "twice_operators.py").write_text(text)
    assert run(model, inputs, tmp_path / "out.npz", "--operators", "twice_operators", "--tensors", "all") == ExitCode.OK
    sys.modules.pop("twice_operators")
    arrays = load_arrays(tmp_path / "out.npz")
    np.testing.assert_array_equal(arrays["z_fix"], arrays["y_fix"] * 2)


def test_a_module_that_is_not_there_is_a_usage_error(
    model: Path, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(model, inputs, tmp_path / "out.npz", "--operators", "not_a_module_of_ours")
    assert code == ExitCode.USAGE
    assert "--operators not_a_module_of_ours: No module named" in fault(code, capsys)


def test_a_model_of_two_inputs_wants_an_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Builder()
    for name in ("a", "b"):
        graph.input((1, 2, 2, 3), 5, name)
    graph.add("y", "eltwise-fix", (1, 2, 2, 3), {"input": ["a", "b"]}, 5, type="ADD")
    write_xmodel(graph.graph(), tmp_path / "two.xmodel")
    (tmp_path / "picture.png").write_bytes(b"any")
    code = run(tmp_path / "two.xmodel", tmp_path / "picture.png", tmp_path / "out.npz")
    assert code == ExitCode.BAD_DATA
    assert "has 2 inputs ('a_fix', 'b_fix'); give them as an .npz" in fault(code, capsys)


def test_a_pipe_or_a_device_is_never_replaced_by_the_output(
    model: Path, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe.npz"
    os.mkfifo(pipe)
    assert main(["run", str(model), "--input", str(inputs), "--output", str(pipe)]) == ExitCode.CANNOT_CREATE
    assert "no ordinary file" in capsys.readouterr().err
    assert pipe.is_fifo()


def test_a_link_is_followed_and_what_is_read_is_never_written(
    model: Path, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "link.npz"
    link.symlink_to("target.npz")
    assert main(["run", str(model), "--input", str(inputs), "--output", str(link)]) == ExitCode.OK
    assert link.is_symlink()
    assert (tmp_path / "target.npz").is_file()
    before = inputs.read_bytes()
    assert main(["run", str(model), "--input", str(inputs), "--output", str(inputs)]) == ExitCode.USAGE
    assert "is the file that is read" in capsys.readouterr().err
    assert inputs.read_bytes() == before


def test_a_module_of_operators_that_fails_is_named(
    model: Path, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken_operators.py").write_text("raise ValueError('not today')\n")
    monkeypatch.syspath_prepend(tmp_path)
    words = ["run", str(model), "--input", str(inputs), "--output", str(tmp_path / "o.npz")]
    assert main([*words, "--operators", "broken_operators"]) == ExitCode.USAGE
    assert "--operators broken_operators: ValueError: not today" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--tensors", ","], ["--mean", "nan"], ["--scale", "inf"]])
def test_options_without_a_meaning_are_usage_errors(
    model: Path, inputs: Path, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", str(model), "--input", str(inputs), "--output", str(tmp_path / "o.npz"), *words]
    try:
        code = main(command)
    except SystemExit as ending:
        code = ending.code
    assert code == ExitCode.USAGE
    assert words[0] in capsys.readouterr().err
