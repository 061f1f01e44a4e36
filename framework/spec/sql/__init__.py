"""The Spark SQL of specs, scanned without Spark."""
