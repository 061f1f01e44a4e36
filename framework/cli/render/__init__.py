"""Plans, progress, errors and reports on a terminal and in machine formats."""
