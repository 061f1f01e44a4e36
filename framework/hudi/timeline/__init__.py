"""All actions on a table, in order (format sheet, section 2)."""
