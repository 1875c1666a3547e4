"""The session file: packed raw samples, markers and runs in one SQLite file."""

from telemetry.session.log import RunInfo, SessionLog
from telemetry.session.reader import RunRecord, SessionReader
from telemetry.session.writer import ChunkWriter

__all__ = ["ChunkWriter", "RunInfo", "RunRecord", "SessionLog", "SessionReader"]
