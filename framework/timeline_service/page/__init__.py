"""The status page: a document without data, and the JSON that it asks for."""
