"""Comparing two models, of one session or of several: what changed, how surely, and whether that is allowed."""
