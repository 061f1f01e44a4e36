"""The file-system view over HTTP (RFC-03): Apache Hudi's routes, and our batch routes."""
