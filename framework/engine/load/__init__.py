"""Writing rows into a table: pinned input, tagging, one task per file group."""
