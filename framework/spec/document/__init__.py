"""A spec's YAML as a document: source text, nodes, positions, scalars, references."""
