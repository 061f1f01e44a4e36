"""`run-pipeline`: the command line. The only package that uses Typer and Rich."""
