"""What a table service will do, as frozen values."""
