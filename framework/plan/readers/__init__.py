"""Which engines and releases can read and keep writing a table, with named exceptions."""
