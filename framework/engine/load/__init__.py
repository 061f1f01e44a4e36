"""A load: pinned input, tagging, one task per file group."""
