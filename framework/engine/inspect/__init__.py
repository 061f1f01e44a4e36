"""Looks at tables and sources: what is there, its history, its state, a first spec for it."""
