"""The bounded Jinja of a spec's SQL."""
