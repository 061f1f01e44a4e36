"""Rules that models cannot express: over a whole spec, and over several specs."""
