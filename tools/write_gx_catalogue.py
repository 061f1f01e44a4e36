"""Write `framework/spec/rules/gx_catalogue.json`: the expectations of the installed GX.

Importing Great Expectations takes seconds, so `validate` reads this file instead. The catalogue is
stricter than GX for checks that can never fail and arguments that its Spark code refuses.
"""

from __future__ import annotations

import inspect
import json
import warnings
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # from packages that GX imports
    import great_expectations as gx
    from great_expectations.core.metric_domain_types import MetricDomainTypes
    from great_expectations.expectations import expectation as gx_classes
    from great_expectations.expectations import registry

CATALOGUE = (
    Path(__file__).resolve().parents[1] / "framework" / "spec" / "rules" / "gx_catalogue.json"
)

ENGINE = "SparkDFExecutionEngine"
PER_ROW = (
    gx_classes.ColumnMapExpectation,
    gx_classes.ColumnPairMapExpectation,
    gx_classes.MulticolumnMapExpectation,
)
BY_SCHEMA = {"expect_column_values_to_be_of_type", "expect_column_values_to_be_in_type_list"}
"""For these GX checks only the frame's schema, although they are per-row classes."""

NOT_SPARK = "it has no implementation for Spark"
NO_ORDER = "rows of a table have no order"
LEFT_OUT = {
    "expect_column_values_to_be_decreasing": NO_ORDER,
    "expect_column_values_to_be_increasing": NO_ORDER,
    "expect_query_results_to_match_comparison": "it compares two data sources",
    "expect_table_row_count_to_equal_other_table": "it needs a second table",
    "unexpected_rows_expectation": "a check of the kind `query` does the same",
}
"""Exclusions that the registry does not show.

On Spark the two order checks sort by a constant, so their result changes from run to run. The last
would replace a view of the session.
"""

BOOKKEEPING = {
    "batch_id",
    "catch_exceptions",
    "condition_parser",
    "description",
    "id",
    "library_metadata",
    "meta",
    "metadata",
    "notes",
    "rendered_content",
    "result_format",
    "severity",
    "windows",
}
ROWS = {"mostly", "row_condition"}
USELESS = {
    "expect_column_kl_divergence_to_be_less_than": {"min_value", "max_value"},  # never read
    "expect_column_quantile_values_to_be_between": {"allow_relative_error"},  # refused but for no
    "expect_column_to_exist": ROWS,
    "expect_column_type_to_be": ROWS,
    "expect_column_values_to_be_in_type_list": ROWS,
    "expect_column_values_to_be_of_type": ROWS,
}
NEEDED = {
    "expect_column_kl_divergence_to_be_less_than": {"partition_object", "threshold"},
    "expect_column_values_to_be_in_type_list": {"type_list"},
    "expect_column_values_to_match_regex": {"regex"},
    "expect_table_columns_to_match_ordered_list": {"column_list"},
    "expect_table_columns_to_match_set": {"column_set"},
}
"""Without these arguments GX always passes or always fails."""

EXPECTED_COLUMNS = {
    "expect_column_to_exist",
    "expect_table_columns_to_match_ordered_list",
    "expect_table_columns_to_match_set",
}
"""These check whether the columns that they name exist."""

NAMES_COLUMNS = ("column", "column_A", "column_B", "column_list", "column_set")
TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}
SCALAR = {"type": ["string", "number", "boolean"]}
WHOLE_ROWS = ["all_values_are_missing", "any_value_is_missing", "never"]
RANGE = {
    "type": "object",
    "properties": {
        "quantiles": {
            "type": "array",
            "items": {"type": "number", "minimum": 0, "maximum": 1},
            "minItems": 1,
        },
        "value_ranges": {
            "type": "array",
            "items": {
                "type": "array",
                "items": {"type": ["number", "null"]},
                "minItems": 2,
                "maxItems": 2,
            },
            "minItems": 1,
        },
    },
    "required": ["quantiles", "value_ranges"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "column_list": TEXTS,
    "column_set": TEXTS,
    "json_schema": {"type": "object", "minProperties": 1},
    "quantile_ranges": RANGE,
    "regex_list": TEXTS,
    "row_condition": {**TEXT, "description": "A Spark SQL predicate: rows to look at."},
    "type_": TEXT,
    "type_list": TEXTS,
    "value_pairs_set": {
        "type": "array",
        "items": {"type": "array", "items": SCALAR, "minItems": 2, "maxItems": 2},
        "minItems": 1,
    },
    "value_set": {"type": "array", "items": SCALAR, "minItems": 1},
}
"""Arguments whose schema in GX allows too much, or fits only its own UI."""

COUNT = {"type": "integer", "minimum": 0}
COUNTS = {
    "expect_column_unique_value_count_to_be_between": ("min_value", "max_value"),
    "expect_column_value_lengths_to_be_between": ("min_value", "max_value"),
    "expect_column_value_lengths_to_equal": ("value",),
    "expect_table_column_count_to_be_between": ("min_value", "max_value"),
    "expect_table_column_count_to_equal": ("value",),
    "expect_table_row_count_to_be_between": ("min_value", "max_value"),
    "expect_table_row_count_to_equal": ("value",),
}
"""Arguments that are compared with a count; for some GX allows fractions, and even dates."""

KEPT = ("type", "enum", "items", "minimum", "maximum", "minLength", "minItems", "format")


def catalogue() -> dict[str, Any]:
    """Return the catalogue: expectations for Spark, and the excluded ones with the reason."""
    known = {name: registry.get_expectation_impl(name) for name in sorted(_names())}
    reasons = {name: _reason(name, kind) for name, kind in known.items()}
    return {
        "great_expectations": gx.__version__,
        "expectations": {
            name: _entry(name, kind) for name, kind in known.items() if reasons[name] is None
        },
        "left_out": {name: reason for name, reason in reasons.items() if reason is not None},
    }


def catalogue_text() -> str:
    """Return the catalogue as JSON text."""
    return json.dumps(catalogue(), indent=1, ensure_ascii=False) + "\n"


def _names() -> list[str]:
    """Return the names of GX's own expectations, without those of plug-ins."""
    return [
        name
        for name in registry.list_registered_expectation_implementations()
        if registry.get_expectation_impl(name).__module__.startswith("great_expectations.")
    ]


def _reason(name: str, kind: Any) -> str | None:
    """Return why an expectation is excluded, or None if it is not."""
    if name in LEFT_OUT:
        return LEFT_OUT[name]
    if name in BY_SCHEMA:
        return None
    metric = getattr(kind, "map_metric", None)
    wanted = [f"{metric}.unexpected_count"] if metric else list(kind.metric_dependencies)
    return None if all(_on_spark(each) for each in wanted) else NOT_SPARK


def _on_spark(metric: str) -> bool:
    """Return whether GX computes a metric on Spark."""
    found = registry._registered_metrics.get(metric, {})  # noqa: SLF001 - there is no public API
    return ENGINE in found.get("providers", {})


def _entry(name: str, kind: Any) -> dict[str, Any]:
    schema = json.loads(kind.schema_json())
    required = {*schema.get("required", ()), *NEEDED.get(name, ())}
    found = schema["properties"].keys() - BOOKKEEPING - USELESS.get(name, set())
    arguments = sorted(found, key=lambda argument: (argument not in required, argument))
    named = () if name in EXPECTED_COLUMNS else NAMES_COLUMNS
    return {
        "about": _about(kind),
        "per_row": issubclass(kind, PER_ROW) and name not in BY_SCHEMA,
        "columns": [each for each in named if each in found],
        "required": sorted(required),
        "properties": {
            each: _argument(name, kind, each, schema["properties"][each]) for each in arguments
        },
    }


def _about(kind: Any) -> str:
    """Return the first sentence of an expectation's docstring, on one line."""
    paragraph = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".") + "."


def _argument(name: str, kind: Any, argument: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return an argument's JSON Schema."""
    if argument == "ignore_row_if" and kind.domain_type is MetricDomainTypes.MULTICOLUMN:
        return {"enum": WHOLE_ROWS}  # one expectation allows any text, and refuses it at run time
    if argument in COUNTS.get(name, ()):
        return COUNT
    if argument in SCHEMAS:
        wanted = dict(SCHEMAS[argument])
        if argument == "column_list" and name not in EXPECTED_COLUMNS:
            wanted["minItems"] = 2
        return wanted
    return _simple(found)


def _simple(found: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without descriptions, defaults and parameter objects.

    GX allows `{"$PARAMETER": name}` for nearly every value; specs have their own variables.
    """
    branches = [_simple(each) for each in found.get("anyOf", ()) if each != {"type": "object"}]
    if len(branches) == 1:
        return branches[0]
    if branches:
        return {"anyOf": branches}
    kept = {key: found[key] for key in KEPT if key in found}
    if "enum" in kept:
        del kept["type"]
    return kept


def main() -> None:
    """Regenerate the file; the same version of GX gives the same bytes."""
    CATALOGUE.write_text(catalogue_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
