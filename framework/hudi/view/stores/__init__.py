"""Stores in which a view keeps the records of file groups."""
