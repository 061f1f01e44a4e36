"""Table services: each observes a table, plans, and does what its plan says."""
