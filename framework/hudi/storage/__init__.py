"""The only access to files: a small port and its implementations."""
