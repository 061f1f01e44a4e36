"""Rules of the section `maintenance`, in the manner of `fault_cases`."""

from __future__ import annotations

from tests.unit.spec.fault_cases import BOOTSTRAP, Case

__all__ = ["MAINTENANCE_CASES"]


def _maintenance(fields: str) -> str:
    """A sound spec's end, and then the section with these fields."""
    return f"{BOOTSTRAP}maintenance: {{{fields}}}\n"


def _case(rule: str, fields: str, suggestion: str | None = None) -> Case:
    return Case(rule, BOOTSTRAP, _maintenance(fields), suggestion)


MAINTENANCE_CASES = [
    _case("bad-duration", "clean: {keep_for: ➜1 week}"),
    _case("bad-duration", "clean: {keep_for: ➜7 days}", "7d"),
    _case("bad-duration", "clean: {keep_for: ➜36 H}", "36h"),
    _case("bad-duration", "clean: {keep_for: ➜36}"),
    _case("out-of-range", "clean: {keep_for: ➜0d}"),
    _case("out-of-range", "clean: {keep_commits: ➜0}"),
    _case("one-clean-policy", "clean: {keep_commits: 5, keep_for: ➜7d}"),
    _case("nothing-to-compact", "compact: ➜{min_logs: 3}"),
    _case("out-of-range", "archive: {keep_min: 20, keep_max: ➜20}", "keep_max: 30"),
    _case("out-of-range", "archive: {keep_min: ➜40}"),
    _case(
        "out-of-range",
        "clean: {keep_commits: ➜25}, archive: {keep_min: 25, keep_max: 40}",
        "keep_commits: 24",
    ),
    _case("z-order-columns", "cluster: {by: [month], z_order: ➜true}"),
    _case("duplicate-column", "cluster: {by: ➜[month, month]}"),
    _case("unknown-field", "➜vacuum: {}"),
]
