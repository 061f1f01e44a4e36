"""Everything between written files and a completed instant, crashes included."""
