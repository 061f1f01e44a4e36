"""How plans, progress, errors and reports look on a terminal and in machine formats."""
