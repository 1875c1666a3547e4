"""What this machine offers for measuring, what is missing, why, and the remedy: one family of checks a file."""
