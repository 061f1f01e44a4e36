"""Catalogs behind one port: Hive Metastore, AWS Glue, and one in memory; and the sync itself."""
