"""Where the service listens: it replaces what a dead service left, and removes nothing else."""

from __future__ import annotations

import selectors
import socket
from pathlib import Path

import pytest

from telemetry.errors import CannotCreate, ConfigError
from telemetry.service.requests import Request
from telemetry.service.server import Client, Server


def _heed(_client: Client, request: Request) -> Request:
    return request


def _serve_once(path: Path) -> None:
    with selectors.DefaultSelector() as selector:
        server = Server(path, selector, _heed)
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
        finally:
            server.close()


def test_the_socket_of_a_dead_service_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "s"))
    _serve_once(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_file_in_its_place_is_kept(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(CannotCreate, match="no socket"):
        _serve_once(tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_link_in_its_place_is_kept(tmp_path: Path) -> None:
    (tmp_path / "s").symlink_to("nowhere")
    with pytest.raises(CannotCreate, match="no socket"):
        _serve_once(tmp_path / "s")
    assert (tmp_path / "s").is_symlink()


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_socket_in_use_is_kept_whatever_its_type(tmp_path: Path, kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(str(tmp_path / "s"))
        if kind == socket.SOCK_STREAM:
            other.listen()
        with pytest.raises(ConfigError, match="listens there"):
            _serve_once(tmp_path / "s")
    assert (tmp_path / "s").is_socket()


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(CannotCreate, match=f"no folder {tmp_path / 'typo'};"):
        _serve_once(tmp_path / "typo" / "s")
    assert not (tmp_path / "typo").exists()
