"""Checks and column contracts of a spec, as the engine gets them."""
