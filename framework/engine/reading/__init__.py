"""Rows of file slices that a plain Parquet scan cannot read."""
