"""Models for whole sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from virtual_board.models import write_demo_models


@pytest.fixture(scope="session")
def demo_models(tmp_path_factory) -> tuple[Path, Path]:
    """The fragmented and the consolidated demo model."""
    return write_demo_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def consolidated(demo_models) -> Path:
    """The demo model of one DPU subgraph: 20 ms an execution."""
    return demo_models[1]
