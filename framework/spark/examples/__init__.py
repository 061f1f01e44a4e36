"""Tests of specs, tried with the pipeline itself on a session."""
