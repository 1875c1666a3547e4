"""Figures: pure functions from series and windows to values that carry their quality."""
