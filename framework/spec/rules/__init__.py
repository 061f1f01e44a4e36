"""What the models cannot say: rules over a whole spec, and over several."""
