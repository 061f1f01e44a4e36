"""The gate: record keys are proven unique and not null on the written files."""
