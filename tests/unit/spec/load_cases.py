"""Rules of the sections that say what later runs load, in the manner of `fault_cases`."""

from __future__ import annotations

from tests.unit.spec.fault_cases import BOOTSTRAP, LOCATION, WHOLE, Case

__all__ = ["LOAD_CASES", "LOAD_WARNINGS"]

SOURCE = "source: {path: lake/landing}\n"
WRITE = "write: {operation: insert}\n"
DELETE = "write: {operation: delete_partition, partitions: ['month=1']}\n"
BEGIN = "version: 1\ntable:\n  name: a.b\n  location: lake/t\n  record_key: auto\n"
BOOTSTRAP_OF_ITS_OWN = "bootstrap: {path: lake/raw, layout: none}\n"


def after(text: str) -> str:
    """The sound spec's end, and then the text."""
    return f"{BOOTSTRAP}{text}"


def source(fields: str) -> str:
    """A spec that loads from a source of these fields."""
    return after(f"source: {{{fields}}}\n{WRITE}")


def write(fields: str) -> str:
    """A spec that loads from a folder and writes in this way."""
    return after(f"{SOURCE}write: {{{fields}}}\n")


def sql(text: str) -> str:
    """A spec with one transform."""
    return after(f"{SOURCE}transforms:\n  - {{name: a, sql: ➜{text}}}\n{WRITE}")


def named(text: str) -> str:
    """A spec with two transforms, the second of them so named."""
    one = "  - {name: clean, sql: SELECT 1}\n"
    return after(f"{SOURCE}transforms:\n{one}  - {{name: {text}, sql: SELECT 2}}\n{WRITE}")


def tests(*items: str) -> str:
    """A spec that loads from a folder, with these tests."""
    lines = "".join(f"  - {{{item}}}\n" for item in items)
    return after(f"{SOURCE}{WRITE}tests:\n{lines}")


LOAD_CASES = [
    # Tests.
    Case(
        "duplicate-test",
        BOOTSTRAP,
        tests(
            "name: a, given: [], expect: {written: []}",
            "name: ➜a, given: [], expect: {written: []}",
        ),
    ),
    Case(
        "rows-not-allowed",
        BOOTSTRAP,
        after(
            "tests:\n  - {name: a, table: ➜[{id: 1}], given: [{id: 2}], expect: {written: []}}\n"
        ),
    ),
    Case(
        "rows-not-allowed",
        BOOTSTRAP,
        after(f"{DELETE}tests:\n  - {{name: a, given: ➜[{{id: 1}}], expect: {{written: []}}}}\n"),
        "given: []",
    ),
    Case(
        "expects-both",
        BOOTSTRAP,
        tests("name: a, given: [], expect: {written: ➜[{id: 1}], refused_by: [null-keys]}"),
    ),
    Case(
        "expects-both",
        BOOTSTRAP,
        tests("name: a, given: [], expect: {quarantined: ➜[{id: 1}], rejected: [{id: 1}]}"),
    ),
    Case(
        "unknown-check",
        BOOTSTRAP,
        tests("name: a, given: [], expect: {refused_by: [➜null-key]}"),
        "null-keys",
    ),
    # The sections together.
    Case(
        "source-without-write",
        BOOTSTRAP,
        after("source: ➜{path: a}\n"),
        "write: {operation: upsert}",
    ),
    Case("write-without-source", BOOTSTRAP, after("write: {operation: ➜insert}\n")),
    Case(
        "transforms-without-source", BOOTSTRAP, after("transforms: ➜[{name: a, sql: SELECT 1}]\n")
    ),
    Case("source-not-allowed", BOOTSTRAP, after(f"source: ➜{{path: lake/landing}}\n{DELETE}")),
    Case("source-not-allowed", BOOTSTRAP, after(f"transforms: ➜[]\n{DELETE}")),
    Case(
        "missing-field",
        BOOTSTRAP,
        after(f"{SOURCE}write: ➜{{parallelism: 8}}\n"),
        "operation: upsert",
    ),
    Case(
        "missing-field",
        WHOLE,
        f"{BEGIN}{SOURCE}{WRITE}".replace("table", "➜table").replace("  record_key: auto\n", "")
        + BOOTSTRAP_OF_ITS_OWN,
        "record_key: {columns: [id], unique_within: table}",
    ),
    Case("empty-value", BOOTSTRAP, after(f"➜source:\n{WRITE}")),
    Case("empty-value", BOOTSTRAP, after(f"{SOURCE}➜write:\n")),
    # What is loaded.
    Case(
        "missing-field", BOOTSTRAP, after(f"➜source:\n  format: csv\n{WRITE}"), "path: lake/landing"
    ),
    Case("unknown-value", BOOTSTRAP, source("path: a, format: ➜CSV"), "csv"),
    Case("unknown-value", BOOTSTRAP, source("path: a, format: ➜'a b'")),
    Case("unknown-value", BOOTSTRAP, source("path: a, load: ➜new_file"), "new_files"),
    Case("load-mismatch", BOOTSTRAP, source("format: jdbc, load: ➜new_files"), "all"),
    Case("reserved-option", BOOTSTRAP, source("path: a, options: {➜Path: b}"), "path"),
    Case("empty-value", BOOTSTRAP, source("path: a, options: {➜' ': b}")),
    Case("empty-value", BOOTSTRAP, source("path: a, options: {➜header: }")),
    Case("wrong-type", BOOTSTRAP, source("path: a, options: {header: ➜[1]}")),
    Case("wrong-type", BOOTSTRAP, source("path: a, options: ➜[1]")),
    Case("wrong-type", BOOTSTRAP, source("path: a, schema: ➜1"), "'1'"),
    Case("wrong-type", BOOTSTRAP, source("path: a, schema: ➜{id: 1}")),
    Case("empty-value", BOOTSTRAP, source("path: a, schema: ➜{}")),
    Case("empty-value", BOOTSTRAP, source("path: a, schema: ➜' '")),
    Case("empty-value", BOOTSTRAP, source("path: a, schema: ➜{' ': INT}")),
    Case("duplicate-column", BOOTSTRAP, source("path: a, schema: ➜{id: INT, ID: INT}")),
    Case("scheme-not-built", BOOTSTRAP, source("path: ➜gs://bucket/a")),
    Case(
        "path-overlap",
        WHOLE,
        f"{BEGIN}{SOURCE}{WRITE}".replace("location: lake/t", "location: ➜lake/landing/t"),
    ),
    Case("secret-not-allowed", BOOTSTRAP, source("path: ➜'${secret.token}'")),
    # How it is written.
    Case("unknown-value", BOOTSTRAP, write("operation: ➜upserts"), "upsert"),
    Case("unknown-value", BOOTSTRAP, write("operation: insert, schema_evolution: ➜add"), None),
    Case(
        "ordering-required",
        BOOTSTRAP,
        write("operation: ➜upsert"),
        "ordering: {columns: [updated_at]}",
    ),
    Case("wrong-type", LOCATION, f"{LOCATION}  ordering: ➜updated_at\n", "{columns: [updated_at]}"),
    Case("empty-value", LOCATION, f"{LOCATION}  ordering: {{columns: ➜[]}}\n"),
    Case("bad-size", BOOTSTRAP, write("operation: insert, target_file_size: ➜120 mb"), "120MB"),
    Case("bad-size", BOOTSTRAP, write("operation: insert, target_file_size: ➜1.5GB"), "1536MB"),
    Case(
        "bad-size", BOOTSTRAP, write("operation: insert, small_file_limit: ➜'1000000'"), "1000000"
    ),
    Case("bad-size", BOOTSTRAP, write("operation: insert, small_file_limit: ➜big")),
    Case("out-of-range", BOOTSTRAP, write("operation: insert, target_file_size: ➜1000000")),
    Case("out-of-range", BOOTSTRAP, write("operation: insert, target_file_size: ➜1023KB")),
    Case("out-of-range", BOOTSTRAP, write("operation: insert, target_file_size: ➜2000GB")),
    Case("out-of-range", BOOTSTRAP, write("operation: insert, small_file_limit: ➜-1")),
    Case(
        "out-of-range",
        BOOTSTRAP,
        write("operation: insert, small_file_limit: ➜121MB"),
        "small_file_limit: 120MB",
    ),
    Case("out-of-range", BOOTSTRAP, write("operation: insert, parallelism: ➜0")),
    Case("wrong-type", BOOTSTRAP, write("operation: insert, target_file_size: ➜1.5")),
    # Deletion of partitions.
    Case(
        "partitions-required",
        BOOTSTRAP,
        after("write: {operation: ➜delete_partition}\n"),
        "partitions: ['month=1']",
    ),
    Case("partitions-not-allowed", BOOTSTRAP, write("operation: insert, partitions: ➜['month=1']")),
    Case(
        "table-without-partitions",
        WHOLE,
        f"{BEGIN}write: {{operation: ➜delete_partition, partitions: [a]}}\n",
    ),
    *[
        Case(
            "bad-partition",
            BOOTSTRAP,
            after(f"write: {{operation: delete_partition, partitions: [➜{text}]}}\n"),
        )
        for text in ("/", "a//b", "../a", "' '")
    ],
    # Transforms.
    Case("transform-name", BOOTSTRAP, named("➜a-b"), "a_b"),
    Case("transform-name", BOOTSTRAP, named("➜2nd"), "_2nd"),
    Case("transform-name", BOOTSTRAP, named("➜Source")),
    Case("wrong-type", BOOTSTRAP, named("➜1"), "'1'"),
    Case("duplicate-transform", BOOTSTRAP, named("➜CLEAN")),
    Case("one-sql", BOOTSTRAP, after(f"{SOURCE}transforms:\n  - ➜{{name: a}}\n{WRITE}")),
    Case(
        "one-sql",
        BOOTSTRAP,
        after(f"{SOURCE}transforms:\n  - ➜{{name: a, sql: SELECT 1, sql_file: a.sql}}\n{WRITE}"),
    ),
    Case(
        "unknown-field",
        BOOTSTRAP,
        after(f"{SOURCE}transforms:\n  - {{name: a, ➜sqlfile: a.sql, sql: SELECT 1}}\n{WRITE}"),
        "sql_file",
    ),
    Case("wrong-type", BOOTSTRAP, after(f"{SOURCE}transforms: ➜{{name: a}}\n{WRITE}")),
    Case("wrong-type", BOOTSTRAP, after(f"{SOURCE}transforms: [➜a]\n{WRITE}")),
    Case(
        "too-many",
        BOOTSTRAP,
        after(
            f"{SOURCE}➜transforms:\n"
            + "".join(f"  - {{name: t{i}, sql: SELECT 1}}\n" for i in range(101))
            + WRITE
        ),
    ),
    Case("wrong-type", BOOTSTRAP, sql("1"), "'1'"),
    Case("empty-value", BOOTSTRAP, sql("''")),
    Case("bad-sql", BOOTSTRAP, sql("DROP TABLE a")),
    Case("bad-sql", BOOTSTRAP, sql("SELECT 1; SELECT 2")),
    Case("bad-template", BOOTSTRAP, sql("'SELECT {{ 1'")),
    Case("template-limit", BOOTSTRAP, sql("'SELECT {{ range(5001) | join }}'")),
    Case("undefined-variable", BOOTSTRAP, sql("'SELECT {{ var.lak }}'"), "var.lake"),
    Case("undefined-variable", BOOTSTRAP, sql("'SELECT ${var.lak}'"), "${var.lake}"),
    Case("secret-not-allowed", BOOTSTRAP, sql("'SELECT ${secret.token}'")),
    Case(
        "bad-path",
        BOOTSTRAP,
        after(f"{SOURCE}transforms:\n  - {{name: a, sql_file: ➜/etc/passwd}}\n{WRITE}"),
    ),
    Case(
        "bad-path",
        BOOTSTRAP,
        after(f"{SOURCE}transforms:\n  - {{name: a, sql_file: ➜~/a.sql}}\n{WRITE}"),
        "${env.HOME}/a.sql",
    ),
    Case(
        "file-outside",
        BOOTSTRAP,
        after(f"{SOURCE}transforms:\n  - {{name: a, sql_file: ➜../a.sql}}\n{WRITE}"),
    ),
    Case(
        "file-not-found",
        BOOTSTRAP,
        after(f"{SOURCE}transforms:\n  - {{name: a, sql_file: ➜x.pipeline.yaml}}\n{WRITE}"),
        "x.pipeline.yml",
    ),
]

LOAD_WARNINGS = [
    Case(
        "record-key-left-out",
        WHOLE,
        f"version: 1\n➜table:\n  name: a.b\n  location: lake/t\n{SOURCE}{WRITE}",
        "record_key: auto",
    ),
    Case("undefined-secret", BOOTSTRAP, source("path: a, options: {password: ➜'${secret.no}'}")),
]
