"""All steps from written files to a completed instant, including crash recovery."""
