"""A gate's findings in every form: JSON, JUnit, Markdown, HTML, Great Expectations, lineage."""
