"""What a Hudi table is: bytes, names, timeline, views and commits, without Spark."""
