"""Executors on other machines: the package travels to them, and they are asked before tasks run."""
