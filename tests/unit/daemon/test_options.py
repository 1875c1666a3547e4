"""Places that the service is told to write to: refused in one line, and left as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemetry.daemon import main


def test_a_file_named_as_socket_is_refused_with_73(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("mine")
    words = ["--board", "kv260", "--root", str(tmp_path), "--listen", "127.0.0.1:0"]
    assert main([*words, "--socket", str(tmp_path / "notes")]) == 73
    assert capsys.readouterr().err == (
        f"kv260-telemetry: {tmp_path}/notes: is there already and no socket; name another place with --socket\n"
    )
    assert (tmp_path / "notes").read_text() == "mine"
