"""The sections of a spec and of the project file, as pydantic models."""
