"""Rules of checks, column contracts and tests, in the manner of `fault_cases`."""

from __future__ import annotations

from tests.unit.spec.fault_cases import BOOTSTRAP, LOCATION, Case

__all__ = ["QUALITY_CASES", "QUALITY_WARNINGS"]


def quality(fields: str) -> str:
    """A spec with a section of these fields."""
    return f"{BOOTSTRAP}quality: {{{fields}}}\n"


def check(fields: str) -> str:
    """A spec with one check."""
    return quality(f"checks: [{{{fields}}}]")


def expect(predicate: str, more: str = "") -> str:
    """A spec with one predicate over rows."""
    return check(f"name: a, expect: {predicate}{more}")


def columns(fields: str) -> str:
    """A spec with a column contract."""
    return f"{LOCATION}  columns: {{{fields}}}\n"


def example(fields: str) -> str:
    """A spec with two tests, the second of these fields."""
    first = "{name: x, given: [], expect: {written: []}}"
    return f"{BOOTSTRAP}tests:\n  - {first}\n  - {{{fields}}}\n"


QUALITY_CASES = [
    # The section.
    Case("empty-value", BOOTSTRAP, f"{BOOTSTRAP}➜quality: {{}}\n"),
    Case("empty-value", BOOTSTRAP, f"{BOOTSTRAP}➜quality:\n"),
    Case("empty-value", BOOTSTRAP, quality("checks: ➜[]")),
    Case("empty-value", BOOTSTRAP, quality("profiles: ➜[]")),
    Case("unknown-field", BOOTSTRAP, quality("➜check: []"), "checks"),
    Case("unknown-profile", BOOTSTRAP, quality("profiles: [➜mony]")),
    Case("wrong-type", BOOTSTRAP, quality("profiles: ➜money"), "[money]"),
    Case("out-of-range", BOOTSTRAP, quality("samples: ➜-1")),
    Case("out-of-range", BOOTSTRAP, quality("samples: ➜1001")),
    Case("wrong-type", BOOTSTRAP, quality("samples: ➜'5'"), "5"),
    Case("unknown-value", BOOTSTRAP, quality("audit: ➜dep"), "deep"),
    Case("wrong-type", BOOTSTRAP, quality("redact: ➜email"), "[email]"),
    Case("duplicate-column", BOOTSTRAP, quality("redact: ➜[email, Email]")),
    # Quarantining rows.
    Case("out-of-range", BOOTSTRAP, quality("quarantine: {max_ratio: ➜0}")),
    Case("out-of-range", BOOTSTRAP, quality("quarantine: {max_ratio: ➜1.5}")),
    Case("wrong-type", BOOTSTRAP, quality("quarantine: {max_ratio: ➜5%}")),
    Case("unknown-field", BOOTSTRAP, quality("quarantine: {➜path: a}"), "bootstrap.path"),
    Case("scheme-not-built", BOOTSTRAP, quality("quarantine: {location: ➜gs://a/b}")),
    Case("path-overlap", BOOTSTRAP, quality("quarantine: {location: ➜lake/flights/bad}")),
    Case("path-overlap", BOOTSTRAP, quality("quarantine: {location: ➜lake/raw}")),
    Case("secret-not-allowed", BOOTSTRAP, quality("quarantine: {location: ➜'${secret.token}'}")),
    # One check.
    Case(
        "missing-field",
        BOOTSTRAP,
        quality("checks: [➜{expect: year > 0}]"),
        "name: distance_positive",
    ),
    Case("check-name", BOOTSTRAP, check("name: ➜a-b, expect: year > 0"), "a_b"),
    Case("check-name", BOOTSTRAP, check("name: ➜1st, expect: year > 0"), "_1st"),
    Case("check-name", BOOTSTRAP, check(f"name: ➜{'a' * 101}, expect: year > 0")),
    Case("one-check", BOOTSTRAP, quality("checks: [➜{name: a}]")),
    Case("one-check", BOOTSTRAP, quality("checks: [➜{name: a, expect: b, gx: c}]")),
    Case("unknown-field", BOOTSTRAP, check("name: a, expect: b > 0, ➜onfail: warn"), "on_fail"),
    Case("unknown-value", BOOTSTRAP, expect("b > 0", ", on_fail: ➜abbort"), "abort"),
    Case("unknown-value", BOOTSTRAP, expect("b > 0", ", over: ➜tables"), "table"),
    Case("wrong-type", BOOTSTRAP, expect("➜true"), "'true'"),
    Case("wrong-type", BOOTSTRAP, expect("b > 0", ", allow_null: ➜yes"), "true"),
    Case("wrong-type", BOOTSTRAP, quality("checks: ➜{name: a}")),
    Case("wrong-type", BOOTSTRAP, quality("checks: [➜a]")),
    Case(
        "duplicate-check",
        BOOTSTRAP,
        quality("checks: [{name: a, expect: b}, {name: ➜A, expect: c}]"),
    ),
    Case("bad-budget", BOOTSTRAP, expect("b > 0", ", max_failed: ➜half")),
    Case("bad-budget", BOOTSTRAP, expect("b > 0", ", max_failed: ➜'100'"), "100"),
    Case("bad-budget", BOOTSTRAP, expect("b > 0", ", max_failed: ➜0%"), "0"),
    Case("bad-budget", BOOTSTRAP, expect("b > 0", ", max_failed: ➜100%")),
    Case("out-of-range", BOOTSTRAP, expect("b > 0", ", max_failed: ➜-1")),
    Case("wrong-type", BOOTSTRAP, expect("b > 0", ", max_failed: ➜0.5")),
    Case("wrong-type", BOOTSTRAP, expect("b > 0", ", max_failed: ➜[1]")),
    # Fields beside one another.
    Case("idle-field", BOOTSTRAP, check("name: a, query: SELECT * FROM this, where: ➜b > 0")),
    Case(
        "idle-field", BOOTSTRAP, check("name: a, expect_aggregate: max(b) > 0, allow_null: ➜true")
    ),
    Case("idle-field", BOOTSTRAP, expect("b > 0", ", arguments: ➜{column: b}")),
    Case("idle-field", BOOTSTRAP, check("name: a, expect_aggregate: max(b) > 0, max_failed: ➜1")),
    Case("idle-field", BOOTSTRAP, expect("b > 0", ", on_fail: drop, over: ➜table"), "written"),
    Case(
        "on-fail-mismatch",
        BOOTSTRAP,
        check("name: a, query: SELECT * FROM this, on_fail: ➜quarantine"),
        "abort",
    ),
    Case(
        "on-fail-mismatch",
        BOOTSTRAP,
        check("name: a, expect_aggregate: max(b) > 0, on_fail: ➜drop"),
        "abort",
    ),
    # Predicates.
    Case("empty-value", BOOTSTRAP, expect("➜''")),
    Case("bad-expression", BOOTSTRAP, expect("'➜ '")),
    Case("bad-expression", BOOTSTRAP, expect("b > ➜(c")),
    Case("bad-expression", BOOTSTRAP, expect("b > 0➜; DROP TABLE t")),
    Case("bad-expression", BOOTSTRAP, expect("b = ➜'x")),
    Case("bad-expression", BOOTSTRAP, expect("b > 0", ", where: '➜`c'")),
    Case("vacuous-check", BOOTSTRAP, expect("b ➜= null"), "IS NULL"),
    Case("vacuous-check", BOOTSTRAP, expect("NULL ➜<> b"), "IS NOT NULL"),
    Case("vacuous-check", BOOTSTRAP, expect("➜1 = 1")),
    Case("vacuous-check", BOOTSTRAP, expect("b > 0", ", where: ➜1 = 1")),
    Case("not-a-row-predicate", BOOTSTRAP, expect("b < ➜max(b)"), "expect_aggregate"),
    Case("not-a-row-predicate", BOOTSTRAP, expect("b > ➜(SELECT 1)"), "query"),
    Case("not-a-row-predicate", BOOTSTRAP, expect("rank() ➜OVER (ORDER BY b) = 1"), "query"),
    Case("no-aggregate", BOOTSTRAP, check("name: a, expect_aggregate: ➜b > 0"), "expect"),
    Case("no-aggregate", BOOTSTRAP, check("name: a, expect_aggregate: ➜abs(b) > 0"), "expect"),
    Case("bad-literal", BOOTSTRAP, expect("b > CAST(➜'x' AS INT)")),
    Case("bad-literal", BOOTSTRAP, expect("b > ➜DATE 'garbage'")),
    Case("undefined-variable", BOOTSTRAP, expect("➜'b > ${var.lak}'"), "${var.lake}"),
    # Queries.
    Case("bad-sql", BOOTSTRAP, check("name: a, query: ➜DELETE FROM this")),
    Case("bad-sql", BOOTSTRAP, check("name: a, query: ➜SELECT * FROM this; SELECT 1")),
    Case("bad-template", BOOTSTRAP, check("name: a, query: ➜'SELECT {{ 1 FROM this'")),
    Case(
        "undefined-variable",
        BOOTSTRAP,
        check("name: a, query: ➜'SELECT {{ var.lak }} FROM this'"),
        "var.lake",
    ),
    # The contract.
    Case("empty-value", LOCATION, f"{LOCATION}  columns: ➜{{}}\n"),
    Case("wrong-type", LOCATION, columns("amount: ➜double")),
    Case("unknown-field", LOCATION, columns("amount: {➜typ: double}"), "type"),
    Case("bad-type", LOCATION, columns("amount: {type: ➜doubel}"), "double"),
    Case("bad-type", LOCATION, columns("amount: {type: ➜varchar}"), "string"),
    Case("bad-type", LOCATION, columns("amount: {type: ➜array<int}")),
    Case("bad-type", LOCATION, columns("amount: {type: ➜'decimal(39,0)'}")),
    Case("reserved-column", LOCATION, columns("➜_hoodie_x: {type: int}")),
    Case("duplicate-column", LOCATION, f"{LOCATION}  columns: ➜{{a: {{}}, A: {{}}}}\n"),
    Case("empty-value", LOCATION, columns("a: {allowed: ➜[]}")),
    Case("wrong-type", LOCATION, columns("a: {allowed: [➜[1]]}"), None),
    Case("bad-literal", LOCATION, columns("a: {type: int, allowed: [1, ➜x]}")),
    Case("bad-literal", LOCATION, columns("a: {type: string, allowed: [x, ➜1.10]}"), "'1.10'"),
    Case("bad-literal", LOCATION, columns("a: {allowed: ➜[x, 1]}"), "type: string"),
    Case("idle-field", LOCATION, columns("a: {type: 'array<int>', allowed: ➜[1]}")),
    Case("idle-field", LOCATION, columns("a: {type: int, on_fail: ➜warn}")),
    Case("columns-file", LOCATION, f"{LOCATION}  columns: ➜/etc/passwd\n"),
    Case(
        "bad-path",
        LOCATION,
        f"{LOCATION}  columns: ➜~/a.columns.yml\n",
        "${env.HOME}/a.columns.yml",
    ),
    Case("file-not-found", LOCATION, f"{LOCATION}  columns: ➜no.columns.yml\n"),
    Case(
        "undefined-variable",
        LOCATION,
        f"{LOCATION}  columns: ➜${{var.lak}}/a.columns.yml\n",
        "${var.lake}",
    ),
    # Tests.
    Case(
        "missing-field",
        BOOTSTRAP,
        f"{BOOTSTRAP}tests: [➜{{name: a, given: []}}]\n",
        "expect: {written: []}",
    ),
    Case("empty-value", BOOTSTRAP, example("name: a, given: [], expect: ➜{}")),
    Case("duplicate-test", BOOTSTRAP, example("name: ➜X, given: [], expect: {written: []}")),
    Case("wrong-type", BOOTSTRAP, example("name: a, given: [➜1], expect: {written: []}")),
    Case(
        "unknown-field", BOOTSTRAP, example("name: a, given: [], expect: {➜writen: []}"), "written"
    ),
    Case("unknown-check", BOOTSTRAP, example("name: a, given: [], expect: {refused_by: [➜a]}")),
    Case(
        "secret-not-allowed",
        BOOTSTRAP,
        example("name: a, given: [{b: ➜'${secret.token}'}], expect: {written: []}"),
    ),
    Case("empty-value", BOOTSTRAP, f"{BOOTSTRAP}tests: ➜[]\n"),
]

QUALITY_WARNINGS = [
    Case("query-without-this", BOOTSTRAP, check("name: a, query: ➜SELECT 1 AS one")),
]
