"""Planning, free of I/O: from a spec and an observation to frozen stages."""
