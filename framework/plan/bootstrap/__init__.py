"""The plan of a table that is not there yet."""
