"""Compares what a board's DPU computes with the executor, tensor by tensor (docs/verify.md)."""
