"""Output that cannot be written is one line and an exit code; messages that cannot be written are no fault."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kv260_runtime.errors import ExitCode
from kv260_runtime.xmodel import write_xmodel
from tests.unit.profile.small_model import small_compiled_graph


@pytest.fixture
def shell(tmp_path):
    """Run `kvbench inspect` on a small model, with what follows it in a shell."""
    model = tmp_path / "small.xmodel"
    write_xmodel(small_compiled_graph(), model)

    def run(more, prefix=""):
        command = f"{prefix} '{sys.executable}' -m kv260_runtime.cli.main inspect '{model}' {more}"
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    return run


def test_a_full_disk_under_the_output_is_an_io_error_in_one_line(shell):
    done = shell(">/dev/full")

    assert done.returncode == ExitCode.IO_ERROR
    assert done.stderr == "kvbench: standard output: No space left on device\n"


def test_a_closed_output_is_said_before_anything_is_done(shell):
    done = shell(">&-")

    assert done.returncode == ExitCode.IO_ERROR
    assert done.stderr.startswith("kvbench: standard output is closed")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_messages_that_cannot_be_written_keep_no_result_back(shell, redirection):
    whole = shell("")

    done = shell(redirection)

    assert (done.returncode, done.stdout) == (whole.returncode, whole.stdout) == (ExitCode.OK, whole.stdout)
    assert done.stdout != ""


def test_an_ascii_terminal_gets_a_substitute_for_what_it_cannot_spell(shell):
    done = shell("--json", prefix="LC_ALL=C PYTHONIOENCODING=ascii")

    assert done.returncode == ExitCode.OK
    assert done.stdout.isascii()
