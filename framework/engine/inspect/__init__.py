"""Inspection of tables and sources: contents, history, state, a first spec."""
