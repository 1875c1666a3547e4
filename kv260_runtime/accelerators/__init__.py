"""One file an accelerator API; the only importers of vendor modules."""
