"""Source files and their counterparts in the table: inventory, skeletons, full files, index."""
