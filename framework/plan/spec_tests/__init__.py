"""The section `tests` of a spec, as values to run."""
