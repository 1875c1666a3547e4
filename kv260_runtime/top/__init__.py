"""A board at this moment: where samples come from, what they come to, how that is shown."""
