"""What later runs load: opened by Spark, shown, and pinned to Parquet files for the engine."""
