"""One run: its context, its lease and pending instant, and how it ends."""
