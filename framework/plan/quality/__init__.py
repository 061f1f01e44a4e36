"""Checks and column contracts of a spec, as the engine is given them."""
