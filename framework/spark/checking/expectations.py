"""Great Expectations checks on a frame: one suite, in the caller's session, without side effects.

No data context is created: GX keeps the last one for the whole process, with its data sources and
their frames, looks for a session of its own, and writes folders. The engine and the validator that
a context would create are created here, and dropped after the call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, types
from pyspark.sql.types import DataType

from framework.engine.results import CheckResult
from framework.errors import TaskError
from framework.plan.quality.model import Check
from framework.spark.checking import great_expectations as gx
from framework.spark.checking import gx_results
from framework.spark.checking.engine import SparkDFExecutionEngine, SuiteStoppedError
from framework.spark.jobs import run_job
from framework.spark.reading.jvm import Jvm
from framework.spec.rules.argument_values import moment

__all__ = ["incomparable", "run_expectations"]


_KINDS: Final = (
    (types.NumericType, "number"),
    (types.StringType, "text"),
    (types.DateType, "date"),
    ((types.TimestampType, types.TimestampNTZType), "time"),
    (types.BooleanType, "boolean"),
)
_FITTING: Final = {
    "number": {"number"},
    "text": {"text", "date", "time"},
    "date": {"date"},
    "boolean": {"boolean"},
}
"""Kinds of columns, each with the comparable kinds of values in a set."""

_BOUNDED: Final = {"number": {"number"}, "date": {"date", "time"}, "time": {"date", "time"}}
"""Kinds of columns, each with the comparable kinds of bounds."""

_BY_VALUE: Final = frozenset(
    {
        "expect_column_max_to_be_between",
        "expect_column_min_to_be_between",
        "expect_column_values_to_be_between",
    }
)
_NUMERIC: Final = frozenset(
    {
        "expect_column_mean_to_be_between",
        "expect_column_median_to_be_between",
        "expect_column_quantile_values_to_be_between",
        "expect_column_stdev_to_be_between",
        "expect_column_sum_to_be_between",
        "expect_column_value_z_scores_to_be_less_than",
        "expect_column_values_to_not_be_outliers",
        "expect_multicolumn_sum_to_equal",
    }
)
_ALIKE: Final = frozenset(
    {
        "expect_column_pair_values_a_to_be_greater_than_b",
        "expect_column_pair_values_to_be_equal",
        "expect_multicolumn_values_to_be_equal",
        "expect_select_column_values_to_be_unique_within_record",
    }
)

_BATCH: Final = "rows"
_NAME: Final = "check"


def incomparable(check: Check, columns: Mapping[str, types.DataType]) -> str | None:
    """Return why a check cannot compare its operands, in one line, or None if it can.

    Args:
        check: any expectation, with arguments that `argument_faults` accepts.
        columns: types of the columns that it names.
    """
    kinds = {name: _kind_of_type(each) for name, each in columns.items()}
    if check.text in _NUMERIC:
        return _first(
            f"{_with_type(c, columns)} is not a number" for c in columns if kinds[c] != "number"
        )
    if check.text in _ALIKE and len(set(kinds.values())) > 1:
        return " cannot be compared with ".join(_with_type(c, columns) for c in columns)
    return _first(
        f"`{argument}` cannot be compared with {_with_type(column, columns)}"
        for argument, value, column, fitting in _literals(check, list(columns), kinds)
        if _kind_of_value(value) not in fitting
    )


def _literals(
    check: Check, columns: list[str], kinds: Mapping[str, str]
) -> Iterator[tuple[str, Any, str, set[str]]]:
    """Yield the values that a check compares: path, value, column, and the comparable kinds."""
    arguments: Mapping[str, Any] = check.arguments
    for index, value in enumerate(arguments.get("value_set", ())):
        column = columns[0]
        yield f"value_set[{index}]", value, column, _FITTING.get(kinds[column], set())
    for index, pair in enumerate(arguments.get("value_pairs_set", ())):
        for column, value in zip(columns, pair, strict=False):
            yield f"value_pairs_set[{index}]", value, column, _FITTING.get(kinds[column], set())
    for name in ("min_value", "max_value") if check.text in _BY_VALUE else ():
        if name in arguments:
            yield name, arguments[name], columns[0], _BOUNDED.get(kinds[columns[0]], set())


def _kind_of_type(found: types.DataType) -> str:
    """Return the kind of a column's type."""
    return next((kind for of, kind in _KINDS if isinstance(found, of)), found.simpleString())


def _kind_of_value(value: Any) -> str:
    """Return the kind of a value of the spec; dates and times are written as text."""
    if isinstance(value, bool):
        return "boolean"
    if not isinstance(value, str):
        return "number"
    read = moment(value)
    return "text" if read is None else "time" if len(value) > len("2026-11-22") else "date"


def _with_type(column: str, columns: Mapping[str, types.DataType]) -> str:
    """Return a column with its type, for messages."""
    return f"column {column!r} ({columns[column].simpleString()})"


def _first(reasons: Iterator[str]) -> str | None:
    return next(reasons, None)


def run_expectations(
    frame: DataFrame,
    checks: Sequence[Check],
    *,
    samples: int,
    redacted: Collection[str] = (),
) -> tuple[CheckResult, ...]:
    """Return the results of the checks, in their order.

    Nulls and `mostly` have the meaning of GX: nulls of a column are ignored, unless the check is
    about nulls. A check that GX passes has passed; one that judges rows also passes if the number
    of bad rows is within its budget, relative to all rows, nulls included. For a check that judges
    no rows, `rows` is 0 and `failed` is 1 or 0. A check that compares unlike kinds, such as text
    with numbers, counts as not run: GX may pass it whatever the rows contain.

    GX counts the rows; then all checks that judge single rows share one aggregate, and those of a
    mean, a maximum and the like share one more: 12 such checks on clean rows cost 3 queries, the
    minimum. Each check with bad rows costs one more query, which ends when it has found `samples`.
    Checks over several rows (uniqueness, quantiles, outliers, sets of distinct values), pairs and
    groups of columns, and each `row_condition` cost one to four of their own: all 49 expectations
    together cost 36 queries. With adaptive execution an aggregate may be two jobs.

    Args:
        frame: is read once per query, and never cached.
        checks: of kind `GX`, with unique names.
        samples: number of bad rows to show for each check that judges rows; 0 for none.
        redacted: columns whose values are hidden, both in samples and in GX's own result.

    Raises:
        TaskError: `audit/check-not-run`, naming each check that could not run; `task/failed` and
            others if Spark could not continue.
    """
    if not checks:
        return ()
    suite = _Suite(frame, samples)
    context = frame.sparkSession.sparkContext
    description = f"Great Expectations: {len(checks)} checks"
    found = run_job(context, description, lambda: suite.run(checks))
    reasons = {**suite.raised, **suite.unfit}
    if reasons:
        raise _not_run(reasons, checks, _hidden_reasons(suite.raised, checks, redacted))
    return tuple(gx_results.result_of(check, found[check.name], redacted) for check in checks)


class _Suite:
    """One run of checks.

    For checks that could not run, by name, `unfit` has their faults, and `raised` the errors of
    Spark or GX.
    """

    def __init__(self, frame: DataFrame, samples: int) -> None:
        self._frame = frame
        self._samples = samples
        self.unfit: dict[str, str] = {}
        self.raised: dict[str, str] = {}

    def run(self, checks: Sequence[Check]) -> Mapping[str, Any]:
        """Return GX's results by the names of checks, without those that could not run."""
        suite = [made for made in map(self._made, checks) if made is not None]
        if not suite:
            return {}
        engine = SparkDFExecutionEngine(self._frame.sparkSession)
        engine.load_batch_data(_BATCH, self._frame)
        validator = gx.Validator(execution_engine=engine)
        validator.metrics_calculator.show_progress_bars = False
        try:
            with gx.without_monitor(), Jvm(self._frame.sparkSession).speaking():
                found = self._validated(validator, suite, shown=0)
                bad = [each for each in suite if self._is_to_be_shown(each, found)]
                return {**found, **self._validated(validator, bad, shown=self._samples)}
        except SuiteStoppedError as stopped:
            raise stopped.error from None

    def _made(self, check: Check) -> gx.Expectation | None:
        """Return a check as a GX expectation, or None if it cannot run on these columns."""
        types = {column: self._type_of(column) for column in gx_results.columns_of(check)}
        missing = [column for column, found in types.items() if found is None]
        known = {column: found for column, found in types.items() if found is not None}
        if missing:
            self.unfit[check.name] = f"there is no column {', '.join(map(repr, missing))}"
            return None
        try:
            made = _as_gx(check)
        except (gx.ValidationError, gx.GreatExpectationsError, ValueError, TypeError) as error:
            self.unfit[check.name] = "; ".join(str(error).splitlines())
            return None
        reason = incomparable(check, known)
        if reason is not None:
            self.unfit[check.name] = reason
            return None
        return made

    def _type_of(self, column: str) -> DataType | None:
        """Return the type of a column, None if Spark finds none; starts no job."""
        try:
            return self._frame.select(column).schema[0].dataType
        except AnalysisException:
            return None

    def _validated(
        self, validator: gx.Validator, suite: list[gx.Expectation], *, shown: int
    ) -> dict[str, gx.ExpectationValidationResult]:
        """Return results by the names of checks, with up to `shown` bad rows each."""
        wanted = {"result_format": "BASIC", "partial_unexpected_count": shown}
        results: list[Any] = validator.graph_validate(
            configurations=[each.configuration for each in suite],
            runtime_configuration={"result_format": wanted, "catch_exceptions": True},
        )
        named = {str(each.expectation_config.meta[_NAME]): each for each in results}
        for name, each in named.items():
            reason = gx_results.reason_of(each)
            if reason is not None:
                self.raised[name] = reason
        return named

    def _is_to_be_shown(
        self, made: gx.Expectation, found: Mapping[str, gx.ExpectationValidationResult]
    ) -> bool:
        """Return whether samples of a check are requested and exist."""
        name = str((made.meta or {})[_NAME])
        return (
            self._samples > 0 and name not in self.raised and gx_results.has_bad_rows(found[name])
        )


def _as_gx(check: Check) -> gx.Expectation:
    """Return a check as a GX expectation, with the check's name in its `meta`."""
    arguments = dict(check.arguments)
    if "row_condition" in arguments:  # GX also accepts text, with a warning
        predicate = str(arguments["row_condition"])
        arguments["row_condition"] = gx.PassThroughCondition(pass_through_filter=predicate)
    kind: Any = gx.get_expectation_impl(check.text)
    made: gx.Expectation = kind(**arguments, meta={_NAME: check.name})
    return made


def _hidden_reasons(
    raised: Mapping[str, str], checks: Sequence[Check], redacted: Collection[str]
) -> set[str]:
    """Return the checks whose exception may contain a redacted value."""
    return {
        check.name
        for check in checks
        if check.name in raised
        and redacted
        and (
            "row_condition" in check.arguments
            or any(
                gx_results.is_hidden(column, redacted) for column in gx_results.columns_of(check)
            )
        )
    }


def _not_run(reasons: Mapping[str, str], checks: Sequence[Check], hidden: set[str]) -> TaskError:
    """Return the error for all checks that could not run."""
    lines = [
        f"  {check.name} ({check.text}): "
        + (
            "the reason may contain redacted values"
            if check.name in hidden
            else reasons[check.name]
        )
        for check in checks
        if check.name in reasons
    ]
    return TaskError(
        "audit/check-not-run",
        "\n".join([f"{len(lines)} of {len(checks)} checks could not run:", *lines]),
        remedy="They neither passed nor failed. Correct them, or the columns that they need.",
    )
