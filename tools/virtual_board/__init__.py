"""The virtual KV260: a board emulated one layer below kvbench, asked for by name only."""
