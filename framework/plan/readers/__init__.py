"""Who can read and who can continue a table: engines, releases, exceptions by name."""
