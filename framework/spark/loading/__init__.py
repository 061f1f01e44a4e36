"""The input of later runs: opened by Spark, previewed, and staged as Parquet files."""
