"""One file a kind of sensor; a reader yields SI values and has neither thread nor clock."""
