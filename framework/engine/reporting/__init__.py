"""What a gate found, in every form: JSON, JUnit, Markdown, HTML, Great Expectations, lineage."""
