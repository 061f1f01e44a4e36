"""Rows that a gate set aside: one data set for each instant, visible once the instant is."""
