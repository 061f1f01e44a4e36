"""The files that make up the table as of an instant."""
