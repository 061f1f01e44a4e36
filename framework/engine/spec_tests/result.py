"""The result of one test of a spec, compared with what the test expects."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum, unique
from typing import Any, Final

import pyarrow as pa

from framework.engine.results import CheckResult
from framework.engine.spec_tests.rows import fitted_rows
from framework.errors import AuditFailedError, FrameworkError
from framework.hudi.keygen.paths import partition_paths
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.keygen.text import null_rows, record_keys
from framework.plan.refusals import Fault
from framework.plan.spec_tests.spec_test import SpecTest, SpecTestRows
from framework.vocabulary import KeyScope, Outcome

__all__ = [
    "NO_ROWS",
    "Difference",
    "Happened",
    "Refusal",
    "Row",
    "SpecTestOutcome",
    "SpecTestResult",
    "compare",
    "differences",
    "reasons",
    "refused_rows",
    "refusing_names",
    "text_of",
]


Row = tuple[str, ...]
"""The texts of a row's values, in the order of columns."""

_NAN: Final = "NaN"

_WORDS: Final = {None: "null", True: "true", False: "false"}
NO_ROWS: Final = pa.table({})
"""No rows, of unknown columns."""
_CHOSEN: Final = ("null-keys", "taken-keys", "duplicate-keys")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How rows differ from the expected ones.

    Attributes:
        what: which rows, such as `written`.
        columns: those that were compared.
        missing: expected rows that were not found, each as often as it is missing.
        unexpected: rows that were not expected, likewise.
        matched: number of expected rows that were found.
    """

    what: str
    columns: tuple[str, ...]
    missing: tuple[Row, ...]
    unexpected: tuple[Row, ...]
    matched: int


def compare(
    what: str, expected: SpecTestRows, found: pa.Table, faults: list[Fault]
) -> Difference | None:
    """Return how rows differ from those expected; None if they do not.

    The columns are those that an expected row names; without any, all. Faults of the expected rows
    themselves are added to `faults`, and then nothing is compared.
    """
    before = len(faults)
    # Without columns nothing was written: all expected rows are missing, whatever they hold.
    wanted: Sequence[Mapping[str, Any]] = expected.rows
    if found.num_columns:
        wanted = fitted_rows(expected, found.schema, faults)
    if len(faults) > before:
        return None
    columns = tuple(dict.fromkeys(name for row in wanted for name in row))
    columns = columns or tuple(name for name in found.column_names if not name.startswith("_"))
    there = found.select([name for name in columns if name in found.column_names]).to_pylist()
    texts: dict[Hashable, Row] = {}
    left, right = _counted(wanted, columns, texts), _counted(there, columns, texts)
    missing, unexpected = left - right, right - left
    if not missing and not unexpected:
        return None
    return Difference(
        what=what,
        columns=columns,
        missing=tuple(texts[key] for key in missing.elements()),
        unexpected=tuple(texts[key] for key in unexpected.elements()),
        matched=(left & right).total(),
    )


def _counted(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], texts: dict[Hashable, Row]
) -> Counter[Hashable]:
    """Return how often each row occurs; its text is added to `texts`."""
    counted: Counter[Hashable] = Counter()
    for row in rows:
        values = [row.get(name) for name in columns]
        key = tuple(map(_key, values))
        texts.setdefault(key, tuple(map(text_of, values)))
        counted[key] += 1
    return counted


def _key(value: Any) -> Hashable:
    """Return a key that equal values share: maps in any order, NaN like NaN."""
    if isinstance(value, float) and math.isnan(value):
        return _NAN
    if isinstance(value, Mapping):
        return tuple((name, _key(item)) for name, item in value.items())
    if isinstance(value, list):
        items = [_key(item) for item in value]
        is_map = all(isinstance(item, tuple) for item in value)
        return tuple(sorted(items, key=repr) if is_map else items)
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return value if isinstance(value, Hashable) else repr(value)


def text_of(value: Any) -> str:
    """Return a value as a spec would have it; ambiguous text is quoted."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {text_of(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return text_of(dict(value))
        return "[" + ", ".join(map(text_of, value)) + "]"
    return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    """Return the text of a value that contains no other."""
    if isinstance(value, str):
        is_plain = value == value.strip() and value not in _WORDS.values() and value
        return value if is_plain else repr(value)
    if isinstance(value, datetime):
        return (
            (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat(" ")
        )
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return _WORDS[value] if value is None or isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refusal by the gate: its words, the checks, and the rows."""

    words: str
    names: tuple[str, ...]
    rows: pa.Table


def refusing_names(error: AuditFailedError) -> tuple[str, ...]:
    """Return the checks that refused a run, sorted; else the reason, such as `duplicate-keys`."""
    kind = error.condition.partition("/")[2]
    if kind == "checks-failed":
        results = (each for each in error.results if isinstance(each, CheckResult))
        failed = {each.check.name for each in results if each.outcome is Outcome.FAILED}
        return tuple(sorted(failed or {str(each["name"]) for each in _failed(error)}))
    return (str(error.report.get("name", kind)),)


def refused_rows(error: AuditFailedError, rule: KeyRule, rows: pa.Table) -> pa.Table:
    """Return the input's rows whose keys the gate refused; none for other refusals."""
    kind = error.condition.partition("/")[2]
    if kind not in _CHOSEN or not rows.num_rows or rule.is_automatic:
        return NO_ROWS
    if kind == "null-keys":
        return rows.take(pa.array(null_rows(rule, rows, {})))
    keys = record_keys(rule, rows, {}).to_pylist()
    if kind == "taken-keys":
        taken = {sample["key"] for sample in _samples(error)}
        return rows.filter(pa.array([key in taken for key in keys]))
    scoped = list(zip(_scopes(rule, rows), keys, strict=True))
    counted = Counter(scoped)
    return rows.filter(pa.array([counted[each] > 1 for each in scoped]))


def _scopes(rule: KeyRule, rows: pa.Table) -> Sequence[Any]:
    """Return the scope in which the key of each row must be unique."""
    if rule.scope is KeyScope.TABLE or not rule.partition:
        return [None] * rows.num_rows
    return list(partition_paths(rule, rows).to_pylist())


def _samples(error: AuditFailedError) -> list[dict[str, Any]]:
    """Return the samples of a report."""
    found = error.report.get("samples")
    return found if isinstance(found, list) else []


def _failed(error: AuditFailedError) -> list[dict[str, Any]]:
    """Return the failed checks of a report."""
    found = error.report.get("failed")
    return found if isinstance(found, list) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """The result of a run.

    Attributes:
        rows: by the names in a test's expectation; those that no test needs may be missing.
        refusal: None if the run was not refused.
    """

    rows: Mapping[str, pa.Table]
    refusal: Refusal | None


def reasons(test: SpecTest, happened: Happened) -> Iterator[str]:
    """Yield how the run differs from what the test expects, apart from its rows."""
    refusal, names = happened.refusal, test.refused_by
    if refusal is None:
        if test.is_refusal:
            by = f" by {_listed(names)}" if names else ""
            yield f"the run should be refused{by}, but was not"
        return
    if not test.is_refusal:
        yield f"the run was refused: {refusal.words}"
    elif names is not None and Counter(names) != Counter(refusal.names):
        yield f"the run should be refused by {_listed(names)}, but was by {_listed(refusal.names)}"


def differences(test: SpecTest, happened: Happened, faults: list[Fault]) -> Iterator[Difference]:
    """Yield the differences of each list of rows that the test expects.

    Yields nothing if the run was refused against expectation, or not refused. Faults of the
    expected rows are added to `faults`.
    """
    if (happened.refusal is not None) != test.is_refusal:
        return
    for what, expected in test.expected.items():
        found = compare(what, expected, happened.rows[what], faults)
        if found is not None:
            yield found


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


@unique
class SpecTestOutcome(StrEnum):
    """`FAILED` is a result other than expected; with an `ERROR` there is no result."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTestResult:
    """The result of one test.

    Attributes:
        name: of the test.
        seconds: wall time.
        reasons: differences other than rows, one sentence each.
        differences: differences of rows.
        error: why there is no result; None if there is one.
        folder: where its files are kept; None if they are not.
    """

    name: str
    seconds: float
    reasons: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    error: FrameworkError | None = None
    folder: str | None = None

    @property
    def outcome(self) -> SpecTestOutcome:
        """The outcome."""
        if self.error is not None:
            return SpecTestOutcome.ERROR
        as_expected = not self.reasons and not self.differences
        return SpecTestOutcome.PASSED if as_expected else SpecTestOutcome.FAILED
