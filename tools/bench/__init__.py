"""Benches: each states a ratio against a baseline measured in the same run."""
