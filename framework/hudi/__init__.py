"""The Hudi table format, without Spark: bytes, names, timeline, views and commits."""
