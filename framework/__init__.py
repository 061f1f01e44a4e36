"""Adopt Parquet as Apache Hudi tables from YAML specs, without copying it.

The Spark-free half of the public surface; the other half is `framework.spark`. To print the
plan of a run, and to distinguish a faulty spec from data that the audit gate refuses:

    from framework import AuditFailedError, SpecError, build_plan, explain

    try:
        print(explain(build_plan("pipelines/flights.pipeline.yml")))
    except SpecError as error:
        for finding in error.findings:
            print(finding.where, finding.message)

Names are loaded on first use, so importing this package costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.engine.prepare import build_plan
    from framework.errors import (
        AfterCommitError,
        AuditFailedError,
        EngineError,
        FrameworkError,
        OutcomeUnknownError,
        PlanError,
        RetryableError,
        SpecError,
    )
    from framework.plan.render.explain import explain
    from framework.spec.loader import load_spec

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
]

_HOMES = {
    "build_plan": "framework.engine.prepare",
    "explain": "framework.plan.render.explain",
    "load_spec": "framework.spec.loader",
}


def __getattr__(name: str) -> object:
    """Return a public name, importing its module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "framework.errors")), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
