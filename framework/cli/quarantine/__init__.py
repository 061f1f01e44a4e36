"""The commands of `run-pipeline quarantine`: rows that runs quarantined."""
