"""How a table begins: inventory, skeletons, full files, index, commit."""
