"""The SQL checks of the audit gate: on input rows, on written rows, and expectations."""
