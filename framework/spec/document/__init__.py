"""A spec's YAML as a document: source, nodes, positions, scalars, references."""
