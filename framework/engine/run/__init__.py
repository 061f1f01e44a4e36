"""One run: what it works with, its lease and pending instant, and how it ends."""
