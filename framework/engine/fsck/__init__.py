"""Checks of a whole table, and repairs of what is safe to repair."""
