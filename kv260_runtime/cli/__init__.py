"""The `kvbench` command line: one file a subcommand."""
