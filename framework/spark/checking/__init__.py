"""The gate's checks by SQL: rows that come in, rows that are written, and expectations."""
