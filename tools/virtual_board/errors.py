"""What can go wrong in opening or using the emulation; each text is one line."""

from __future__ import annotations


class VirtualBoardError(ValueError):
    """An option, a file or a fault name is wrong; the text says which and what to write instead."""

    exit_code = 64


class BoardLost(OSError):
    """The board process is gone or refused a request."""
