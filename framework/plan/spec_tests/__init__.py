"""The section `tests` of a spec, made ready to be run."""
