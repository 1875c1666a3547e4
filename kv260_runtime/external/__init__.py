"""Meters that are not the board's: their files and typed readings, brought to the session's clock by a load pulse."""
