"""The Spark half of the public surface: runs and reads on a Spark session.

A name is loaded on first use: tasks import modules of this package, and need little of it.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from framework.spark.backend import run
    from framework.spark.reading.incremental import read_incremental
    from framework.spark.reading.snapshot import read, read_optimized

__all__ = ["read", "read_incremental", "read_optimized", "run"]

_MODULES: Final = MappingProxyType(
    {
        "read": "reading.snapshot",
        "read_incremental": "reading.incremental",
        "read_optimized": "reading.snapshot",
        "run": "backend",
    }
)


def __getattr__(name: str) -> object:
    """Return a public name, importing its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
