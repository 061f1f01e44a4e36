"""Rows of a spec's tests: typed, written to files, compared."""
