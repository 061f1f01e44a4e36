"""Rows of file slices that no plain Parquet scan can give."""
