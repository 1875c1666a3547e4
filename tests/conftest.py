"""Fixtures shared by all tests."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A job in the background of a shell ignores Ctrl-C, and so would every command that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of real files beside the checkout; the test skips where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "README.md").is_file():
        pytest.skip("../shared is absent: the real files this test reads are not here")
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    """On a board, contract tests run on its DPU as well."""
    parser.addoption("--hardware", metavar="MODEL.xmodel", help="run contract tests on the board's DPU with this model")
