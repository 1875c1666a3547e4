"""Programs written for the board, run unchanged on the emulated one, yield what the real DPU would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.system.harness import profile

PROGRAMS = Path(__file__).parent / "programs"
SOFTMAX_TOLERANCE = 1e-6

pytestmark = pytest.mark.shared


def on_the_board(*words, options=("dpu=2.5",)):
    """Run a program by `python -m virtual_board`."""
    asked = [word for option in options for word in ("--option", option)]
    command = [sys.executable, "-m", "virtual_board", *asked, "--", sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def reference(shared_dir, name, folder):
    """A reference's inputs as a file of their own, and its outputs."""
    with np.load(shared_dir / "xmodels/reference" / name) as archive:
        arrays = {key: archive[key] for key in archive.files}
    source = folder / "in.npz"
    np.savez(source, **{key[3:]: values for key, values in arrays.items() if key.startswith("in.")})
    return source, {key[4:]: values for key, values in arrays.items() if key.startswith("out.")}


@pytest.mark.parametrize(
    ("program", "model", "kind", "options"),
    [
        ("classify.py", "cifar10_cnn_b4096", "dpu_subgraph.sg1", ("dpu=2.5",)),
        ("classify.py", "yolov5n_640_b4096", "dpu_subgraph.sg1", ("dpu=3.0",)),
        ("whole_graph.py", "cifar10_cnn_b4096", "whole_graph", ("dpu=2.5",)),
        ("whole_graph.py", "cnn28_b4096", "whole_graph", ("dpu=3.0",)),
    ],
)
def test_a_program_of_the_board_yields_the_reference(shared_dir, tmp_path, program, model, kind, options):
    source, expected = reference(shared_dir, f"{model}.{kind}.npz", tmp_path)
    path, target = shared_dir / "xmodels" / f"{model}.xmodel", tmp_path / "out.npz"

    done = on_the_board(PROGRAMS / program, path, source, target, options=options)

    assert done.returncode == 0, done.stderr
    with np.load(target) as given:
        assert set(given.files) == set(expected)
        for name, values in expected.items():
            assert given[name].dtype == values.dtype
            if values.dtype == np.int8:
                assert int((given[name] != values).sum()) == 0
            else:
                assert np.abs(given[name].astype(np.float64) - values).max() <= SOFTMAX_TOLERANCE


def test_threads_with_a_runner_each_get_the_same_results(shared_dir, tmp_path):
    source, expected = reference(shared_dir, "cifar10_cnn_b4096.dpu_subgraph.sg1.npz", tmp_path)
    path, target = shared_dir / "xmodels/cifar10_cnn_b4096.xmodel", tmp_path / "out.npz"

    done = on_the_board(PROGRAMS / "classify.py", path, source, target, 3)

    assert done.returncode == 0, done.stderr
    with np.load(target) as given:
        assert [int((given[name] != values).sum()) for name, values in expected.items()] == [0]


def test_a_faulty_device_gives_one_wrong_element(shared_dir, tmp_path):
    source, expected = reference(shared_dir, "cifar10_cnn_b4096.dpu_subgraph.sg1.npz", tmp_path)
    path, target = shared_dir / "xmodels/cifar10_cnn_b4096.xmodel", tmp_path / "out.npz"

    done = on_the_board(PROGRAMS / "classify.py", path, source, target, options=("dpu=2.5", "fault=bit-flip"))

    assert done.returncode == 0, done.stderr
    with np.load(target) as given:
        assert [int((given[name] != values).sum()) for name, values in expected.items()] == [1]


def test_a_benchmark_of_repeated_inputs_has_the_devices_time_and_tells_that_the_host_is_slower(shared_dir, tmp_path):
    model = shared_dir / "xmodels/yolov5n_640_b4096.xmodel"
    patterns = ("--begin", "^begin", "--end", "^end", "--count", "^execution", "--runs", "1", "--smoke", "0")
    plan = ("--idle", "0.5", "--trim", "0.2", "--duration", "3")

    own = profile(tmp_path, model, *plan, "--runs", "1", "--smoke", "0", "--workload", "dpu")
    own.session.unlink()
    theirs = profile(tmp_path, model, *plan, *patterns, "--", sys.executable, PROGRAMS / "loop.py", "{model}", 300)

    assert theirs.code == own.code == 0, theirs.errors
    ratio = theirs.figure("throughput")["mean"] / own.figure("throughput")["mean"]
    assert ratio == pytest.approx(1, rel=0.05)
    findings = [finding["code"] for run in theirs.runs(kept=True) for finding in run["findings"]]
    assert "host-slower" in findings
