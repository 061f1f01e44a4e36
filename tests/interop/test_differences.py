"""The named exceptions of the judge and of the reader gate are the same ones."""

from __future__ import annotations

from framework.plan.readers.exceptions import EXCEPTIONS
from tests.interop.cases import CASES
from tests.interop.differences import DIFFERENCES, RELEASES

GATE_KEYS = {"1.2.0": "spark-hudi-1.2", "0.15.0": "spark-hudi-0.15"}


def test_every_judged_difference_is_printed_by_the_reader_gate() -> None:
    """A plan names each exception that the judge has shown, for each release that shows it."""
    printed = {exception.name: exception.readers for exception in EXCEPTIONS}
    for name, difference in DIFFERENCES.items():
        assert {GATE_KEYS[release] for release in difference.releases} <= set(printed[name])


def test_cases_name_known_differences_and_every_difference_has_a_case() -> None:
    """No name is a slip of the pen, and none is left unproven by the sample."""
    met = {name for case in CASES if case.sample for name in case.exceptions}
    assert met == set(DIFFERENCES)
    assert len({case.name for case in CASES}) == len(CASES)


def test_differences_speak_of_judged_releases() -> None:
    """Each difference holds for at least one of the releases that the judge runs."""
    for difference in DIFFERENCES.values():
        assert difference.releases
        assert set(difference.releases) <= set(RELEASES)
