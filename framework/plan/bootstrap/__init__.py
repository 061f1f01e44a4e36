"""The plan of a table that does not exist yet."""
