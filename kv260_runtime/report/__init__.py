"""Results as text: one file a format."""
