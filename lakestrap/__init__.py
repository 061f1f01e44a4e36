"""The public names of Lakestrap, for notebooks and jobs.

Read a table as a DataFrame, and run a spec in an existing session:

    from lakestrap import read, run

    flights = read(spark, "/data/lake/flights")
    run(spark, "pipelines/flights.pipeline.yml")

The names are those of `framework` and `framework.spark`; installed, both are part of this package
(`docs/adr/0024-install-under-one-name.md`). A name is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import framework as room

if TYPE_CHECKING:
    from framework import (
        AfterCommitError,
        AuditFailedError,
        EngineError,
        FrameworkError,
        OutcomeUnknownError,
        PlanError,
        RetryableError,
        SpecError,
        build_plan,
        explain,
        load_spec,
    )
    from framework.spark import read, read_incremental, read_optimized, run

__all__ = [
    "AfterCommitError",
    "AuditFailedError",
    "EngineError",
    "FrameworkError",
    "OutcomeUnknownError",
    "PlanError",
    "RetryableError",
    "SpecError",
    "build_plan",
    "explain",
    "load_spec",
    "read",
    "read_incremental",
    "read_optimized",
    "run",
]

_ON_SPARK = ("read", "read_incremental", "read_optimized", "run")


def __getattr__(name: str) -> object:
    """Return a public name, importing its module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("framework.spark") if name in _ON_SPARK else room, name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
