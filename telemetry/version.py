"""The version of the distribution, importable without importing anything else."""

VERSION = "0.1.0"
