"""Rows of a spec's tests: typed, laid in files, compared."""
