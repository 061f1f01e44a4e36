"""The status page: a document without data, and the JSON it requests."""
