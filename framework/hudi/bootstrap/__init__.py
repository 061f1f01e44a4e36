"""Source files and what stands for them: inventory, skeletons, full files, index."""
