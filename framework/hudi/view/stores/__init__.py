"""Where a view keeps the records of file groups."""
