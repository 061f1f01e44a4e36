"""The one dynamic import of the command line: commands, and whatever only some of them need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["attribute"]


def attribute(module: str, name: str) -> Any:
    """Return `name` of a module, imported now."""
    return getattr(import_module(module), name)
