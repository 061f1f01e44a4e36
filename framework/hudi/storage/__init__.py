"""The one door to files: a small port, and what stands behind it."""
