"""Board profiles, one YAML file each (schema: telemetry.boards)."""
