"""The recorder of the service: one process, the pipe through which its samples come, and the file it may keep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from telemetry.errors import SessionError, TelemetryError
from telemetry.feed import PIPE_BYTES, FeedReader, Frame
from telemetry.protocol import RecorderPlan
from telemetry.recording import Recording
from telemetry.service import raw_files


class Source:
    """A running recorder; closed by `stop`."""

    def __init__(self, plan: RecorderPlan) -> None:
        """Start it; raises as Recording.start and, for a session that the plan names, raw_files.fresh do."""
        self._log = raw_files.fresh(Path(plan.session), plan.ring_bytes) if plan.session is not None else None
        reading, writing = os.pipe()
        try:
            plan.feed = writing
            self._recording = Recording.start(plan)
        except BaseException:
            os.close(reading)
            if self._log is not None:
                self._log.close()
            raise
        finally:
            os.close(writing)
        os.set_blocking(reading, False)
        self._descriptor = reading
        self._reader = FeedReader()
        self.ready = self._recording.ready

    def fileno(self) -> int:
        """Readable when there are frames."""
        return self._descriptor

    def frames(self) -> Iterator[Frame]:
        """Frames that have come; raises TelemetryError, saying why, if the recorder is gone."""
        with suppress(BlockingIOError):
            while data := os.read(self._descriptor, PIPE_BYTES):
                yield from self._reader.frames(data)
            raise TelemetryError(self._recording.poll() or "the recorder closed its pipe")

    def flush(self) -> None:
        """Make all that was sampled up to now come as a frame."""
        with suppress(SessionError):  # the raw file; the frame says so too
            self._recording.flush()

    def stop(self) -> str | None:
        """End the recorder; why its last samples did not reach the raw file, if they did not."""
        try:
            self._recording.stop()
            if self._log is not None:
                self._log.close()
        except TelemetryError as error:
            return str(error)
        finally:
            os.close(self._descriptor)
        return None
