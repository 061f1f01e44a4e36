"""Every rule of the spec language, as the edit of a sound spec that breaks it.

In each case `➜` marks where the finding must point; it is taken out before loading.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CASES", "MARK", "PROJECT", "WARNINGS", "WHOLE", "Case"]

MARK = "➜"


@dataclass(frozen=True, slots=True)
class Case:
    """A fault: its rule, the edit that makes it, and what is suggested instead."""

    rule: str
    old: str
    new: str
    suggestion: str | None = None


WHOLE = "<the whole text>"
BOOTSTRAP = "  mode: metadata_only\n"
LOCATION = "  location: lake/flights\n"
RULES = "  mode: metadata_only\n  rules:\n"

CASES = [
    # The file.
    Case("control-character", WHOLE, "version: 1\ntable: ➜\x00\n"),
    Case("control-character", WHOLE, "version: 1\ntable: a➜\x1bb\n"),
    Case("empty-file", WHOLE, "➜# nothing\n"),
    Case("wrong-type", WHOLE, "➜- version: 1\n"),
    # YAML.
    Case("yaml-syntax", "  name: nyc.flights\n", "  name: nyc➜: flights\n"),
    Case("yaml-syntax", "{month: int}\n", "{month: int\n"),
    Case("yaml-syntax", "  mode: metadata_only\n", "  mode: {➜\n\n"),
    Case("yaml-tab", "  location:", "➜\tlocation:", "indent with two spaces per level"),
    Case("yaml-alias", "nyc.flights", "➜*flights"),
    Case("yaml-anchor", "nyc.flights", "➜&name nyc.flights"),
    Case("yaml-anchor", "table:\n", "table: ➜&table\n"),
    Case("yaml-tag", "nyc.flights", "➜!!str nyc.flights"),
    Case("yaml-tag", "nyc.flights", "➜!!python/object/apply:os.system nyc.flights"),
    Case("yaml-directive", "version: 1\n", "➜%YAML 1.2\n---\nversion: 1\n"),
    Case("yaml-many-documents", BOOTSTRAP, f"{BOOTSTRAP}➜---\nversion: 1\n"),
    Case("yaml-merge", BOOTSTRAP, f"{BOOTSTRAP}  ➜<<: {{}}\n"),
    Case(
        "yaml-number",
        BOOTSTRAP,
        f"{BOOTSTRAP}  parallelism: ➜9223372036854775808\n",
        "'9223372036854775808'",
    ),
    Case("yaml-number", BOOTSTRAP, f"{BOOTSTRAP}  parallelism: ➜1e999\n", "'1e999'"),
    Case("key-not-text", BOOTSTRAP, f"{BOOTSTRAP}  ➜1: x\n", "'1'"),
    Case("key-not-text", BOOTSTRAP, f"{BOOTSTRAP}  ➜true: x\n", "'true'"),
    Case("key-not-text", BOOTSTRAP, f"{BOOTSTRAP}  ? ➜[a]\n  : x\n"),
    Case("reference-in-key", BOOTSTRAP, f"{BOOTSTRAP}  ➜${{var.x}}: x\n"),
    Case("duplicate-key", BOOTSTRAP, f"{BOOTSTRAP}  ➜mode: metadata_only\n"),
    # References.
    Case("unquoted-reference", "{month: int}", "{month: ➜${var.type}}", "'${var.type}'"),
    Case(
        "unquoted-reference",
        "[year, month, day]",
        "[year, ➜a${var.type}/b, day]",
        "'a${var.type}/b'",
    ),
    Case("bad-reference", LOCATION, "  location: ➜${lake}/flights\n", "${var.lake}"),
    Case("bad-reference", LOCATION, "  location: ➜${env:HOME}/flights\n", "${env.HOME}"),
    Case("bad-reference", LOCATION, "  location: ➜${vars.lake}/flights\n", "${var.lake}"),
    Case("bad-reference", LOCATION, "  location: ➜${what ever}/flights\n"),
    Case("bad-reference", LOCATION, "  location: ➜lake/${flights\n", "$${"),
    Case("undefined-variable", LOCATION, "  location: ➜${var.lak}/flights\n", "${var.lake}"),
    Case("undefined-variable", LOCATION, "  location: ➜${var.zzz}/flights\n"),
    Case("undefined-variable", LOCATION, "  location: ➜${var.bucket}/flights\n", "--target prod"),
    Case(
        "undefined-environment-variable",
        LOCATION,
        "  location: ➜${env.LAKESTRAP_LAKR}/x\n",
        "${env.LAKESTRAP_LAKE}",
    ),
    Case("secret-not-allowed", LOCATION, "  location: ➜lake/${secret.token}\n"),
    Case("secret-not-allowed", "copy_on_write", "➜${secret.token}"),
    # Fields.
    Case("unsupported-version", "version: 1", "version: ➜2", "1"),
    Case("unsupported-version", "version: 1", "version: ➜0", "1"),
    Case("missing-field", "version: 1\n", "➜", "version: 1"),
    Case("missing-field", "table:\n  name: nyc.flights\n", "➜table:\n", "name: database.table"),
    Case("missing-field", "    unique_within: table\n", "", "unique_within: table"),
    Case("missing-field", "  layout: hive\n", "", "layout: hive"),
    Case("unknown-field", "  layout:", "  layout: hive\n  ➜layuot:", "layout"),
    Case("unknown-field", "bootstrap:\n", "➜bootstrp: {}\nbootstrap:\n", "bootstrap"),
    Case("unknown-field", "bootstrap:\n", "➜qualty: {}\nbootstrap:\n", "quality"),
    Case("unknown-field", LOCATION, f"{LOCATION}  ➜layout: hive\n", "bootstrap.layout"),
    Case("unknown-field", LOCATION, f"{LOCATION}  ➜zzzzz: hive\n"),
    Case(
        "unknown-field",
        BOOTSTRAP,
        f"{RULES}    - {{partition: a, mode: skip, ➜resaon: x}}\n",
        "reason",
    ),
    Case("unknown-value", "copy_on_write", "➜copy-on-write", "copy_on_write"),
    Case("unknown-value", "{month: int}", "{month: ➜integer}", "int"),
    Case("unknown-value", "unique_within: table", "unique_within: ➜everywhere"),
    Case(
        "unknown-value",
        LOCATION,
        f"{LOCATION}  readers: [trino, ➜spark-hudi-1.3]\n",
        "spark-hudi-1.2",
    ),
    Case("wrong-type", LOCATION, f"{LOCATION}  readers: ➜trino\n", "[trino]"),
    Case("wrong-type", BOOTSTRAP, f"{BOOTSTRAP}  parallelism: ➜'8'\n", "8"),
    Case("wrong-type", BOOTSTRAP, f"{BOOTSTRAP}  parallelism: ➜010\n", "10"),
    Case("wrong-type", BOOTSTRAP, f"{BOOTSTRAP}  parallelism: ➜true\n"),
    Case("wrong-type", BOOTSTRAP, f"{BOOTSTRAP}  parallelism: ➜1.0\n"),
    Case("wrong-type", BOOTSTRAP, f"{BOOTSTRAP}  allow_empty: ➜no\n", "false"),
    Case("wrong-type", BOOTSTRAP, f"{BOOTSTRAP}  allow_empty: ➜1\n"),
    Case("wrong-type", "nyc.flights", "➜2013", "'2013'"),
    Case("wrong-type", "[year, month, day]", "➜year", "[year]"),
    Case("wrong-type", "{month: int}", "➜[month, day]", "{month: string, day: string}"),
    Case(
        "wrong-type", "    columns: [year, month, day]\n    unique_within: table\n", "    - year\n"
    ),
    Case("wrong-type", BOOTSTRAP, f"{RULES}    - ➜all\n"),
    Case("wrong-type", BOOTSTRAP, f"{BOOTSTRAP}spark: {{conf: {{spark.x: ➜[1]}}}}\n"),
    Case("empty-value", "  layout: hive\n", "  ➜layout:\n"),
    Case("empty-value", "  layout: hive\n", "  ➜layout: ~\n"),
    Case("empty-value", "lake/raw/flights", "➜''"),
    Case("empty-value", "[year, month, day]", "➜[]"),
    Case("empty-value", "[year, month, day]", "[year, ➜' ', day]"),
    Case("empty-value", BOOTSTRAP, f"{BOOTSTRAP}➜spark:\n"),
    Case("out-of-range", BOOTSTRAP, f"{BOOTSTRAP}  parallelism: ➜0\n"),
    Case("out-of-range", BOOTSTRAP, f"{BOOTSTRAP}  parallelism: ➜2147483648\n"),
    Case("out-of-range", LOCATION, f"{LOCATION}  bloom: {{false_positive_rate: ➜1}}\n"),
    Case("out-of-range", LOCATION, f"{LOCATION}  bloom: {{false_positive_rate: ➜.nan}}\n"),
    Case(
        "out-of-range",
        LOCATION,
        f"{LOCATION}  bloom: {{max_keys: ➜10, expected_keys: 11}}\n",
        "max_keys: 11",
    ),
    Case(
        "out-of-range",
        LOCATION,
        f"{LOCATION}  bloom: {{expected_keys: ➜4000001}}\n",
        "max_keys: 4000001",
    ),
    Case("too-many", LOCATION, f"{LOCATION}  ordering: {{columns: ➜[a, b]}}\n"),
    # The table.
    Case("table-name", "nyc.flights", "➜a.b.c", "a.b_c"),
    Case("table-name", "nyc.flights", "➜my table", "my_table"),
    Case("table-name", "nyc.flights", "➜nyc.", "nyc"),
    Case("reserved-column", "[year, month, day]", "[year, ➜_hoodie_record_key]"),
    Case("reserved-column", "{month: int}", "{➜_hoodie_x: int}"),
    Case("reserved-column", "[year, month, day]", "[year, ➜_Lakestrap_row]"),
    Case("reserved-column", "[year, month, day]", "[year, ➜_metadata]"),
    Case("reserved-column", "{month: int}", "{➜_tmp_metadata_row_index: int}"),
    Case("duplicate-column", "[year, month, day]", "➜[year, year]"),
    Case("duplicate-column", "[year, month, day]", "➜[year, Year]"),
    Case("duplicate-column", "{month: int}", "➜{month: int, MONTH: int}"),
    Case(
        "ordering-required", "copy_on_write", "➜merge_on_read", "ordering: {columns: [updated_at]}"
    ),
    Case(
        "wrong-type",
        "\n    columns: [year, month, day]\n    unique_within: table\n",
        " ➜year\n",
        "{columns: [year], unique_within: table}",
    ),
    # Locations.
    Case("bad-path", "lake/raw/flights", "➜~/raw", "${env.HOME}/raw"),
    Case("bad-path", "lake/raw/flights", "➜/"),
    Case("bad-path", "lake/raw/flights", '➜"a\\nb"'),
    Case("bad-path", "lake/raw/flights", "➜file:/a", "file:///a"),
    Case("bad-path", "lake/raw/flights", "➜file://host/a", "file:///host/a"),
    Case("unknown-scheme", "lake/raw/flights", "➜s4://bucket/a"),
    *[
        Case("scheme-not-built", "lake/raw/flights", f"➜{scheme}://bucket/a")
        for scheme in ("s3n", "gs", "viewfs", "abfss", "GS")
    ],
    Case("bad-path", "lake/raw/flights", "➜s3:///a", "s3a://bucket/a"),
    Case("bad-path", "lake/raw/flights", "➜s3://b/../a"),
    Case("scheme-not-built", LOCATION, "  location: ➜gs://bucket/a\n"),
    Case("bad-path", "lake/raw/flights", "➜hdfs:///a", "hdfs://namenode:8020/a"),
    Case("bad-path", "lake/raw/flights", "➜hdfs://namenode:8020/"),
    Case("path-overlap", LOCATION, "  location: ➜lake/raw/flights/\n"),
    Case("path-overlap", LOCATION, "  location: ➜lake/raw/flights/table\n"),
    Case("path-overlap", LOCATION, "  location: ➜./lake/x/../raw\n"),
    *[
        Case(
            "path-overlap",
            "bootstrap:\n",
            f"quality:\n  quarantine: {{location: ➜{place}}}\nbootstrap:\n",
        )
        for place in ("lake/raw/flights/quarantine", "lake/raw", "lake/flights/quarantine")
    ],
    # How the table begins.
    Case("layout-mismatch", "layout: hive", "layout: ➜none", "hive"),
    Case("layout-mismatch", "  partition_by: {month: int}\n", "", "none"),
    Case("bad-pattern", BOOTSTRAP, f"{RULES}    - {{partition: ➜'month=(1', mode: skip}}\n"),
    Case("bad-pattern", BOOTSTRAP, f"{RULES}    - {{partition: ➜'(?=a)b', mode: skip}}\n"),
    Case("bad-pattern", BOOTSTRAP, f"{RULES}    - {{partition: ➜{'a' * 201}, mode: skip}}\n"),
    Case("rule-without-condition", BOOTSTRAP, f"{RULES}    - ➜mode: skip\n"),
    Case(
        "unknown-partition-column",
        BOOTSTRAP,
        f"{RULES}    - {{where: {{➜mont: 1}}, mode: skip}}\n",
        "month",
    ),
    Case("bad-comparison", BOOTSTRAP, f"{RULES}    - {{where: {{month: ➜'>= x'}}, mode: skip}}\n"),
    Case(
        "bad-comparison",
        BOOTSTRAP,
        f"{RULES}    - {{where: {{month: ➜'=> 3'}}, mode: skip}}\n",
        "'>= 3'",
    ),
    # Spark.
    Case(
        "spark-conf-key",
        BOOTSTRAP,
        f"{BOOTSTRAP}spark: {{conf: {{➜sql.ansi: true}}}}\n",
        "spark.sql.ansi",
    ),
]

WARNINGS = [
    Case(
        "undefined-secret",
        BOOTSTRAP,
        f"{BOOTSTRAP}spark: {{conf: {{spark.x: ➜'${{secret.no}}'}}}}\n",
    ),
    Case(
        "unreachable-rule",
        BOOTSTRAP,
        f"{RULES}    - {{partition: .*, mode: skip}}\n    - ➜{{partition: a, mode: fail}}\n",
    ),
    Case(
        "deprecated-name", LOCATION, f"{LOCATION}  ➜precombine: ts\n", "ordering: {columns: [ts]}"
    ),
]

PROJECT = """\
version: 1
variables: {lake: lake, type: int}
targets:
  prod: {variables: {bucket: b}}
"""
