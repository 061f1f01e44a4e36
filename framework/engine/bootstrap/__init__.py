"""A bootstrap: inventory, skeletons, full files, index, commit."""
