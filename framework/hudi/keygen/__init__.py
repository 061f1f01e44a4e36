"""Record keys as Apache Hudi writes them, in Arrow and as Spark SQL."""
