"""A plan as text, Markdown and JSON: golden forms, and what holds for any plan."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framework.plan.build import build
from framework.plan.definition import Plan
from framework.plan.observation import Observation, SourceDrift
from framework.plan.render.document import plan_schema
from framework.plan.render.explain import LineKind, explain_json, explain_markdown, explain_text
from framework.plan.render.stage_document import stage_text
from framework.plan.stages import BeginBootstrap
from tests.support.planning import (
    FLIGHTS_SCHEMA,
    a_pending_run,
    a_plan,
    a_source,
    a_spec,
    a_table,
    an_adopted_table,
    facts_of,
    flights_observation,
    partition,
)

MIXED = """mode: metadata_only
  rules:
    - {partition: 'month=1[0-2]', mode: full_record, reason: still being corrected}
    - {where: {month: '< 2'}, mode: skip}
"""

PLAIN_TEXT = """\
nyc.flights  copy_on_write  12 partitions, 12 files, 336,776 rows, 6.1 MB
  stages
   source        12 files fingerprinted
   1 skeletons   12 partitions metadata_only: ~2.5 MB to write, 0 B of data rewritten
   2 audit       key (year, month, day, carrier, flight, origin) unique in table, not null
   3 index       12 partitions, 12 files
   4 commit      00000000000001, atomic
   cost          ~0.1 core-seconds, an estimate from footers and sampled rows
  readers
   read and write on  Spark with Apache Hudi 1.2.0, 1.1.x
   read only          Spark with Apache Hudi 1.0.x, 0.15.0; Trino 476
   unproven           Trino hudi-trino 1.2.1; Athena engine 3; Flink
   cannot read        hudi-rs 0.5.0; Hive
   ! auto-upgrade-loses-rows (Spark with Apache Hudi 1.2.0, 1.1.x, 1.0.x): \
a write with default options upgrades the table to version 8 or 9; \
while skeletons are left, filters on data columns then lose rows: write with \
hoodie.write.table.version=6, hoodie.write.auto.upgrade=false and hoodie.metadata.enable=false
     full_record would change: rows are correct after an upgrade too
   ! null-meta-columns (Trino 476): \
reads data columns right, and NULL in the `_hoodie_` columns of skeletons
     full_record would change: `_hoodie_` columns are read too
   ! typed-path-only-partition (Spark with Apache Hudi 1.0.x, 0.15.0): \
reads are correct, but a write that touches a skeleton's file group fails where a partition column \
is only in the path and is neither a string nor a date (ClassCastException): column month
     full_record would change: the value is then in the file, and correct
  notes
   key parts carrier, origin are text: values with ',' or ':' could give two keys the same text; \
uniqueness is proven on that text, so the audit would refuse them [key/text-may-collide]
Plan: 1 table to bootstrap. Nothing has been changed."""

MIXED_HEAD = """\
nyc.flights  copy_on_write  11 partitions, 11 files, 309,772 rows, 5.6 MB
  stages
   source        12 files fingerprinted
   1 skeletons   8 partitions metadata_only: ~1.6 MB to write, 0 B of data rewritten
   2 full files  3 partitions full_record, 3 files: ~2.0 MB to write, 1.5 MB of data rewritten
   3 audit       key (year, month, day, carrier, flight, origin) unique in table, not null
   4 index       8 partitions, 8 files
   5 commit      00000000000001, atomic
   cost          ~0.2 core-seconds, an estimate from footers and sampled rows
  partitions
   full_record   3 partitions, 3 files, 84,292 rows, 1.5 MB (rules[0], still being corrected): \
month=10, month=11, month=12
   skip          1 partition, 1 file, 27,004 rows, 486.1 kB (rules[1]): month=1
   metadata_only 8 partitions, 8 files, 225,480 rows, 4.1 MB (default): \
month=2, month=3, month=4 and 5 more
  readers"""

MIXED_MARKDOWN = """\
### `nyc.flights`

copy_on_write, key (year, day, flight) unique in partition, ComplexKeyGenerator, schema of 6 columns

1. **skeletons** 1 partition metadata_only: ~8.9 kB to write, 0 B of data rewritten
2. **full files** 1 partition full_record, 1 file: ~56.2 kB to write, 50.0 kB of data rewritten
3. **audit** key (year, day, flight) unique in partition, not null
4. **index** 1 partition, 1 file
5. **commit** 00000000000001, atomic

Estimate: ~80.8 kB to write, ~0.0 core-seconds.

| mode | partitions | files | rows | size |
|---|---:|---:|---:|---:|
| metadata_only | 1 | 1 | 1,000 | 50.0 kB |
| full_record | 1 | 1 | 1,000 | 50.0 kB |
| skip | 1 | 1 | 1,000 | 50.0 kB |

| partition | mode | files | rows | size | why |
|---|---|---:|---:|---:|---|
| `month=1` | skip | 1 | 1,000 | 50.0 kB | rules[1] |
| `month=12` | full_record | 1 | 1,000 | 50.0 kB | rules[0]: still being corrected |
| `month=2` | metadata_only | 1 | 1,000 | 50.0 kB | default |

| readers | |
|---|---|
| read and write on | Spark with Apache Hudi 1.2.0, 1.1.x |
| read only | Spark with Apache Hudi 1.0.x, 0.15.0; Trino 476 |
| unproven | Trino hudi-trino 1.2.1; Athena engine 3; Flink |
| cannot read | hudi-rs 0.5.0; Hive |

- **auto-upgrade-loses-rows** (Spark with Apache Hudi 1.2.0, 1.1.x, 1.0.x) \
a write with default options upgrades the table to version 8 or 9; \
while skeletons are left, filters on data columns then lose rows: write with \
hoodie.write.table.version=6, hoodie.write.auto.upgrade=false and hoodie.metadata.enable=false. \
With `full_record`: rows are correct after an upgrade too.
- **null-meta-columns** (Trino 476) \
reads data columns right, and NULL in the '_hoodie_' columns of skeletons. \
With `full_record`: '_hoodie_' columns are read too.
- **typed-path-only-partition** (Spark with Apache Hudi 1.0.x, 0.15.0) \
reads are correct, but a write that touches a skeleton's file group fails where a partition column \
is only in the path and is neither a string nor a date (ClassCastException): column month. \
With `full_record`: the value is then in the file, and correct.

**Plan: 1 table to bootstrap. Nothing has been changed.**
"""


def text_of(plan: Plan) -> str:
    """Return the plan's lines as one text."""
    return "\n".join(line.text for line in explain_text(plan))


def cases(folder: Path) -> dict[str, Plan]:
    """Return one plan of each case and of each kind of stage."""
    spec = a_spec(folder)
    drift = SourceDrift(new_files=3, new_bytes=5, samples_new=("a|b",), missing_files=1)
    empty = Observation(table=a_table(), source=a_source(schema=None))
    like = a_pending_run(spec_hash=spec.content_hash)
    adopted = Observation(table=an_adopted_table(spec, drift=drift))
    finish = Observation(
        table=an_adopted_table(spec, properties=None, drift=None),
        pending=a_pending_run(published=True),
    )
    allowed = {"mode: metadata_only": "mode: metadata_only\n  allow_empty: true"}
    return {
        "plain": a_plan(folder),
        "mixed": a_plan(folder, changes={"mode: metadata_only\n": MIXED}),
        "full": a_plan(folder, changes={"mode: metadata_only": "mode: full_record"}),
        "resume": a_plan(folder, flights_observation(pending=like)),
        "roll_back": a_plan(folder, flights_observation(pending=a_pending_run())),
        "adopted": build(spec, adopted),
        "finish": build(spec, finish),
        "empty": a_plan(folder, empty, changes=allowed),
    }


def test_explain_text_of_the_plain_plan_is_as_designed(tmp_path: Path) -> None:
    """The form that reviewers know, line by line."""
    assert text_of(a_plan(tmp_path)) == PLAIN_TEXT


def test_explain_text_of_mixed_modes_lists_partitions_by_rule(tmp_path: Path) -> None:
    """Where there is more than one way, the plan says which partitions go which."""
    plan = a_plan(tmp_path, changes={"mode: metadata_only\n": MIXED})
    assert text_of(plan).startswith(MIXED_HEAD)


def test_explain_text_has_kinds_for_the_terminal(tmp_path: Path) -> None:
    """Each line says what it is."""
    kinds = [line.kind for line in explain_text(a_plan(tmp_path))]
    assert kinds[:3] == [LineKind.TITLE, LineKind.HEADING, LineKind.STAGE]
    assert LineKind.WARNING in kinds
    assert kinds[-1] is LineKind.RESULT


@pytest.mark.parametrize(
    ("case", "line", "result"),
    [
        (
            "resume",
            "   1 recover     resume run 3f2a9c1e: spec and source are unchanged (8 files done)",
            "Plan: 1 table to bootstrap, resumed. Nothing has been changed.",
        ),
        (
            "roll_back",
            "   1 recover     roll back run 3f2a9c1e: its journal is incomplete",
            "Plan: 1 table to bootstrap. Nothing has been changed.",
        ),
        (
            "finish",
            "   1 recover     finish run 3f2a9c1e: its commit is published",
            "Plan: 1 table to finish. Nothing has been changed.",
        ),
        (
            "full",
            "   3 commit      an ordinary commit, atomic",
            "Plan: 1 table to bootstrap. Nothing has been changed.",
        ),
        (
            "adopted",
            "   ! 1 source file missing",
            "Plan: up to date, but for 3 new files. Nothing has been changed.",
        ),
        (
            "empty",
            "nyc.flights  copy_on_write  0 partitions, 0 files, 0 rows, 0 B",
            "Plan: nothing to adopt yet. Nothing has been changed.",
        ),
    ],
)
def test_explain_text_of_each_case_says_what_it_is(
    tmp_path: Path, case: str, line: str, result: str
) -> None:
    """One telling line and the closing sentence of each case."""
    lines = text_of(cases(tmp_path)[case]).splitlines()
    assert line in lines
    assert lines[-1] == result


def test_explain_markdown_of_mixed_modes_is_a_table_of_modes_and_partitions(
    tmp_path: Path,
) -> None:
    """What a reviewer sees under the pull request."""
    changes = {
        "mode: metadata_only\n": MIXED,
        "[year, month, day, carrier, flight, origin]": "[year, day, flight]",
        "within: table": "within: partition",
    }
    source = a_source("month=1", "month=12", "month=2")
    plan = a_plan(tmp_path, Observation(table=a_table(), source=source), changes=changes)
    assert explain_markdown(plan) == MIXED_MARKDOWN


def test_explain_markdown_of_many_partitions_is_folded_and_bounded(tmp_path: Path) -> None:
    """A comment has room for 65,536 characters."""
    changes = {"{month: int}": "{month: string}"}
    source = a_source(*(f"month={'x' * 60}{n:04}" for n in range(3500)))
    plan = a_plan(tmp_path, Observation(table=a_table(), source=source), changes=changes)
    text = explain_markdown(plan)
    assert "<details><summary>3,500 partitions</summary>" in text
    assert "and 3,300 more partitions" in text
    assert len(text) < 65_536


def test_explain_markdown_of_hostile_names_keeps_its_tables(tmp_path: Path) -> None:
    """A pipe, a mention or HTML in a path or a reason is shown, not obeyed."""
    rules = """mode: metadata_only
  rules:
    - {partition: '.*evil.*', mode: full_record, reason: 'ask @all | <b>now</b>'}
"""
    changes = {"{month: int}": "{month: string}", "mode: metadata_only\n": rules}
    source = a_source("month=a", "month=evil|@x<i>")
    plan = a_plan(tmp_path, Observation(table=a_table(), source=source), changes=changes)
    row = next(line for line in explain_markdown(plan).splitlines() if "evil" in line)
    assert row == (
        "| `month=evil\\|@\u200bx&lt;i>` | full_record | 1 | 1,000 | 50.0 kB "
        "| rules[0]: ask @\u200ball \\| &lt;b>now&lt;/b> |"
    )


def test_explain_markdown_of_an_adopted_table_lists_the_changes(tmp_path: Path) -> None:
    """The comment includes the diff."""
    text = explain_markdown(cases(tmp_path)["adopted"])
    assert "- 3 new files (5 B) under /lake/raw/flights not in the table: a\\|b and 2 more" in text


@pytest.mark.parametrize(
    "case", ["plain", "mixed", "full", "resume", "roll_back", "adopted", "finish", "empty"]
)
def test_explain_json_of_each_case_keeps_to_its_schema(tmp_path: Path, case: str) -> None:
    """What machines read is what the published schema says."""
    document = json.loads(explain_json(cases(tmp_path)[case]))
    jsonschema.Draft202012Validator(plan_schema()).validate(document)
    assert document["plan_version"] == 1


def test_explain_json_of_the_plain_plan_has_its_numbers(tmp_path: Path) -> None:
    """A few members that scripts rely on."""
    document = json.loads(explain_json(a_plan(tmp_path)))
    assert document["totals"] == {
        "partitions": 12,
        "files": 12,
        "rows": 336_776,
        "bytes": 6_061_968,
    }
    assert [stage["stage"] for stage in document["stages"]] == [
        "begin",
        "skeletons",
        "audit",
        "index",
        "commit",
    ]
    assert document["key"]["generator"] == "org.apache.hudi.keygen.ComplexKeyGenerator"
    assert document["partitions"][1] == {
        "partition": "month=10",
        "mode": "metadata_only",
        "rule": None,
        "reason": "",
        "files": 1,
        "rows": 28_889,
        "bytes": 520_002,
        "first": 1,
        "stop": 2,
    }


@pytest.mark.property
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(counts=st.lists(st.integers(0, 10**12), min_size=1, max_size=20))
def test_explanations_of_any_sizes_agree(tmp_path: Path, counts: list[int]) -> None:
    """Text, Markdown and JSON show the same rows, and none of them fails."""
    source = a_source(*(partition(f"month={n}", n, rows=r) for n, r in enumerate(counts)))
    plan = a_plan(tmp_path, Observation(table=a_table(), source=source))
    assert f"{sum(counts):,} rows" in text_of(plan).splitlines()[0]
    assert json.loads(explain_json(plan))["totals"]["rows"] == sum(counts)
    assert f"| {sum(counts):,} |" in explain_markdown(plan)


def test_facts_in_a_title_count_one_as_one(tmp_path: Path) -> None:
    """One skeleton is one skeleton."""
    spec = a_spec(tmp_path)
    table = an_adopted_table(spec, facts=facts_of(spec, skeletons=1, full=1))
    title = explain_text(build(spec, Observation(table=table)))[0].text
    assert title.endswith("1 skeleton, 1 full file")


def test_stage_text_of_begin_names_action_and_instant() -> None:
    """`begin` is not a line of its own in the text, but it is a stage of the JSON."""
    assert (
        stage_text(BeginBootstrap(instant="00000000000001", action="commit"))
        == "commit 00000000000001"
    )
    assert stage_text(BeginBootstrap(instant=None, action="commit")) == "commit at the next instant"


def test_line_as_text_is_its_text(tmp_path: Path) -> None:
    """`print(line)` is enough."""
    line = explain_text(a_plan(tmp_path))[0]
    assert str(line) == line.text


def test_explain_markdown_of_one_unpartitioned_root_needs_no_second_table(tmp_path: Path) -> None:
    """The table of modes says all of a single partition."""
    changes = {"  partition_by: {month: int}\n": "", "layout: hive": "layout: none"}
    schema = FLIGHTS_SCHEMA.append(pa.field("month", pa.int64()))
    source = a_source(partition("", 0, files=3), schema=schema)
    plan = a_plan(tmp_path, Observation(table=a_table(), source=source), changes=changes)
    assert "| partition | mode |" not in explain_markdown(plan)
    assert "NonpartitionedKeyGenerator" in explain_markdown(plan)
