"""What a table says of itself: properties, schema, partition paths, places of files."""
