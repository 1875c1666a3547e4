"""One session for all tests of reports."""

from __future__ import annotations

import pytest

from tests.unit.report import sessions


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    """A session file: two kept runs of models a and b, one excluded run."""
    path = tmp_path_factory.mktemp("report") / "two.kvs"
    sessions.write_session(path)
    return path


@pytest.fixture(scope="session")
def both(session):
    """The result and the timeline of that session."""
    return sessions.result_and_timeline(session)


@pytest.fixture(scope="session")
def result(both):
    return both[0]


@pytest.fixture(scope="session")
def timeline(both):
    return both[1]


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A session whose names and reasons try to be markup."""
    path = tmp_path_factory.mktemp("report") / "hostile.kvs"
    sessions.write_session(path, models=(sessions.HOSTILE, "b"), reason=sessions.HOSTILE)
    return sessions.result_and_timeline(path)
