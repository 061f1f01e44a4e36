"""File names, file slices and file groups (format sheet, sections 3.1 and 6.1)."""
