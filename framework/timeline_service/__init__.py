"""The file-system view over HTTP (RFC-03): Apache Hudi's routes, and ours for batches."""
