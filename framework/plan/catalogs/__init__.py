"""What a catalog shall hold about a table, and the difference to what it holds; pure."""
