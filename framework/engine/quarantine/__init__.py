"""Rows that a gate quarantined: one data set for each instant, visible once the instant is."""
