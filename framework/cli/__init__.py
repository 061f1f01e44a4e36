"""`run-pipeline`: commands in, words out. The only room that knows Typer and Rich."""
