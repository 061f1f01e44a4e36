"""A plan as text, Markdown and JSON."""
