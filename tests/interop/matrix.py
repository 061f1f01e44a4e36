"""Cases as pytest parameters: the sample, and the rest with the marker `full`."""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

from tests.interop.cases import CASES, Case

__all__ = ["case_params", "upsert_params"]


def case_params() -> list[ParameterSet]:
    """Return every case; those outside the sample have the marker `full`."""
    return [pytest.param(case, id=case.name, marks=_marks(case)) for case in CASES]


def upsert_params() -> list[ParameterSet]:
    """Return every (case, index) pair."""
    return [
        pytest.param(case, index, id=f"{case.name}-{index.lower()}", marks=_marks(case))
        for case in CASES
        for index in case.indexes
    ]


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    """Return the markers of a case."""
    return [pytest.mark.interop] if case.sample else [pytest.mark.interop, pytest.mark.full]
