"""Tests of specs, run with the pipeline itself on a session."""
