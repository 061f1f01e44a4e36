"""Snapshots of a table as data frames: native scans, with meta columns derived or read."""
