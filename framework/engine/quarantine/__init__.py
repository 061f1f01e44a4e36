"""Rows that a gate quarantined: one data set per instant, visible once the instant is."""
