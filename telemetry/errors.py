"""Errors of telemetry, named by phase: not there, cannot be configured, failed in use, does not deserve a number."""

from __future__ import annotations


class TelemetryError(Exception):
    """Base of all errors here; its text is one line that names the file or value and the remedy."""


class ConfigError(TelemetryError, ValueError):
    """A board profile or option is wrong: unknown key, value out of range."""


class SensorNotFound(TelemetryError, LookupError):
    """The board does not offer this sensor (or not to this user)."""


class ReadGap(TelemetryError, OSError):
    """One read gave no value. The sampler records a gap with `reason` and tries again at the next deadline."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SessionError(TelemetryError, OSError):
    """A session file cannot be created, read, written or understood; as it stands, reading or writing failed."""


class SessionMissing(SessionError):
    """There is no such file, or it cannot be opened."""


class SessionUnreadable(SessionError, ValueError):
    """The file is no session, is damaged, or is of a newer format."""


class SessionExists(SessionError):
    """A session cannot be created at that place."""


class CannotCreate(TelemetryError, OSError):
    """Something else stands where a file or socket is to be made, or its folder is missing."""


class RecorderEnded(TelemetryError, OSError):
    """The recorder has died, or was killed because it no longer answered."""


class NotCovered(TelemetryError, ValueError):
    """A figure was asked of a window that its samples do not cover; the text says what is missing."""
