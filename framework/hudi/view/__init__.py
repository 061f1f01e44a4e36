"""Which files make up the table as of an instant."""
