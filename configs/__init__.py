"""Read-only configuration shipped with the product; `boards/` holds one YAML file a board."""
