"""The parts of kv260-telemetry: what it keeps, what it adds up, what it answers; telemetry.daemon joins them."""
