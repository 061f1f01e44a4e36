"""A table's description of itself: properties, schema, partition paths, file locations."""
