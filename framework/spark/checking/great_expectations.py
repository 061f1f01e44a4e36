"""The parts of Great Expectations in use, imported without side effects on the process.

The import takes about three seconds, so any module that imports this one is itself imported late.
GX and its imports add warning filters, and GX switches `logging.captureWarnings` on, so that the
warnings of the whole program would end in an unread log.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # from packages that GX imports
    _SHOWN = warnings.showwarning
    from great_expectations.compatibility.pydantic import ValidationError
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.exceptions.exceptions import (
        GreatExpectationsError,
        MetricResolutionError,
    )
    from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
    from great_expectations.expectations.expectation import Expectation
    from great_expectations.expectations.registry import get_expectation_impl
    from great_expectations.expectations.row_conditions import PassThroughCondition
    from great_expectations.validator.validator import Validator
    from tqdm.std import tqdm

    if warnings.showwarning is not _SHOWN:
        logging.captureWarnings(capture=False)

__all__ = [
    "Expectation",
    "ExpectationValidationResult",
    "GreatExpectationsError",
    "MetricResolutionError",
    "PassThroughCondition",
    "SparkDFExecutionEngine",
    "ValidationError",
    "Validator",
    "get_expectation_impl",
    "without_monitor",
]


@contextmanager
def without_monitor() -> Iterator[None]:
    """Prevent progress bars from starting a thread; GX's start one even when switched off."""
    kept = tqdm.monitor_interval
    tqdm.monitor_interval = 0
    try:
        yield
    finally:
        tqdm.monitor_interval = kept
