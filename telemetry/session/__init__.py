"""The session file: packed raw samples, markers and runs in one SQLite file."""
