"""What a spec says of later runs: its source, how it writes, and what that asks of the table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.errors import PlanError
from framework.spec.document.secret import Secret
from framework.spec.loader import load_spec
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.spec.sections.source_spec import SMALL_FILE_LIMIT, TARGET_FILE_SIZE, SourceLoad
from framework.spec.sections.table_spec import OrderingSpec
from framework.vocabulary import SchemaEvolution, TableType, WriteOperation

Write = Callable[..., Path]
TABLE = "version: 1\ntable:\n  name: a.b\n  location: lake/t\n"
KEY = "  record_key: auto\n"
SOURCE = "source: {path: lake/landing}\n"
INSERT = "write: {operation: insert}\n"


def loaded(write_spec: Write, text: str, project: str | None = None) -> PipelineSpec:
    """The spec of a text without faults."""
    return load_spec(write_spec(text, project))


def test_source_and_write_have_their_values_and_defaults(write_spec: Write) -> None:
    """What is not written has its default, and the location is absolute."""
    path = write_spec(TABLE + KEY + SOURCE + INSERT)
    spec = load_spec(path)
    source, write = spec.source, spec.write
    assert source is not None
    assert write is not None
    assert (source.format, source.path) == ("parquet", str(path.parent / "lake/landing"))
    assert (source.options, source.schema_text, source.load) == ({}, None, SourceLoad.NEW_FILES)
    assert (write.operation, write.parallelism) == (WriteOperation.INSERT, None)
    assert (write.target_file_size, write.small_file_limit) == (TARGET_FILE_SIZE, SMALL_FILE_LIMIT)
    assert (write.schema_evolution, write.partitions) == (SchemaEvolution.FREEZE, ())
    assert (spec.bootstrap, spec.transforms, spec.warnings) == (None, (), ())


def test_spec_that_only_begins_a_table_loads_nothing(write_spec: Write, spec_text: str) -> None:
    """The sections are None, and the empty tuple, where they are not written."""
    spec = loaded(write_spec, spec_text)
    assert (spec.source, spec.transforms, spec.write) == (None, (), None)


def test_options_are_text_as_they_were_written(write_spec: Write) -> None:
    """What YAML would take for numbers and booleans reaches Spark letter by letter."""
    options = "{header: True, ratio: 0.10, hex: 0x10, sep: ';', year: '${var.y}', all: '${var.b}'}"
    text = f"{TABLE}{KEY}source: {{format: csv, path: a, options: {options}}}\n{INSERT}"
    spec = loaded(write_spec, text, "version: 1\nvariables: {y: 2026, b: true}\n")
    assert spec.source is not None
    expected = {"header": "True", "ratio": "0.10", "hex": "0x10", "sep": ";"}
    assert spec.source.options == {**expected, "year": "2026", "all": "true"}
    quoted = text.replace("True", "'True'").replace("0.10", "'0.10'")
    again = loaded(write_spec, quoted, "version: 1\nvariables: {y: 2026, b: true}\n")
    assert again.content_hash == spec.content_hash


def test_secret_of_an_option_is_shown_nowhere(
    write_spec: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read at the moment of use, and stored as it was written."""
    options = "{user: ada, password: 'x${secret.pass}'}"
    text = f"{TABLE}{KEY}source: {{format: jdbc, options: {options}}}\n{INSERT}"
    spec = loaded(write_spec, text)
    assert [w.rule for w in spec.warnings] == ["spec/undefined-secret"]
    assert spec.source is not None
    assert isinstance(spec.source.options["password"], Secret)
    with pytest.raises(PlanError):
        spec.source.revealed_options()
    monkeypatch.setenv("RUN_PIPELINE_SECRET_PASS", "canary")
    assert spec.source.revealed_options() == {"user": "ada", "password": "xcanary"}
    assert "canary" not in f"{spec}{spec.stored()}"
    assert "x${secret.pass}" in json.dumps(spec.stored())


@pytest.mark.parametrize(
    ("written", "ddl"),
    [
        ("'id BIGINT, ts TIMESTAMP'", "id BIGINT, ts TIMESTAMP"),
        ("' id BIGINT '", "id BIGINT"),
        ("{ts: TIMESTAMP, id: ' BIGINT'}", "ts TIMESTAMP, id BIGINT"),
        ("{a b: 'DECIMAL(10,2)', 'x`y': INT}", "`a b` DECIMAL(10,2), `x``y` INT"),
        ("{_hoodie_record_key: STRING}", "_hoodie_record_key STRING"),
    ],
)
def test_schema_is_ddl_however_it_is_written(write_spec: Write, written: str, ddl: str) -> None:
    """A mapping keeps its order; names that SQL cannot say are quoted."""
    text = f"{TABLE}{KEY}source: {{path: a, schema: {written}}}\n{INSERT}"
    source = loaded(write_spec, text).source
    assert source is not None
    assert source.schema_text == ddl


@pytest.mark.parametrize(
    ("fields", "load"),
    [
        *[(f"path: a, format: {name}", "new_files") for name in ("parquet", "csv", "json", "orc")],
        *[("path: a, load: all", "all"), ("format: jdbc", "all"), ("format: avro, path: a", "all")],
        ("format: org.apache.spark.sql.avro, load: all", "all"),
    ],
)
def test_new_files_are_loaded_if_they_can_be_identified(
    write_spec: Write, fields: str, load: str
) -> None:
    """Of files the new ones by default, of anything else everything."""
    source = loaded(write_spec, f"{TABLE}{KEY}source: {{{fields}}}\n{INSERT}").source
    assert source is not None
    assert source.load == load


def test_source_may_be_the_bootstrap_path_or_inside_it(write_spec: Write, spec_text: str) -> None:
    """Only the table must not overlap."""
    for path in ("lake/raw/flights", "lake/raw/flights/new", "lake/raw"):
        spec = loaded(write_spec, f"{spec_text}source: {{path: {path}}}\n{INSERT}")
        assert spec.warnings == ()


@pytest.mark.parametrize(
    ("fields", "target", "small"),
    [
        ("", TARGET_FILE_SIZE, SMALL_FILE_LIMIT),
        (", target_file_size: 1GB", 2**30, SMALL_FILE_LIMIT),
        (", target_file_size: 50MB", 50 * 2**20, 50 * 2**20),
        (", target_file_size: 1048576, small_file_limit: 0", 2**20, 0),
        (", small_file_limit: '${var.mb}MB'", TARGET_FILE_SIZE, 8 * 2**20),
        (", small_file_limit: '${var.bytes}'", TARGET_FILE_SIZE, 4096),
    ],
)
def test_sizes_are_bytes(write_spec: Write, fields: str, target: int, small: int) -> None:
    """The limit's default is lowered to a small target, so that one field is enough."""
    text = f"{TABLE}{KEY}{SOURCE}write: {{operation: insert{fields}}}\n"
    write = loaded(write_spec, text, "version: 1\nvariables: {mb: 8, bytes: 4096}\n").write
    assert write is not None
    assert (write.target_file_size, write.small_file_limit) == (target, small)


def test_size_of_the_command_line_is_read_like_one_in_yaml(write_spec: Write) -> None:
    """A number is bytes, and text has its unit."""
    path = write_spec(
        f"{TABLE}{KEY}{SOURCE}write: {{operation: insert, target_file_size: '${{var.s}}'}}\n"
    )
    for given, size in (("2097152", 2**21), ("2MB", 2**21)):
        write = load_spec(path, variables={"s": given}).write
        assert write is not None
        assert write.target_file_size == size


@pytest.mark.parametrize("kind", TableType)
def test_order_of_commits_is_an_ordering_without_columns(
    write_spec: Write, kind: TableType
) -> None:
    """Upserts and merge-on-read take it for an answer."""
    text = f"{TABLE}{KEY}  type: {kind}\n  ordering: commit_time\n{SOURCE}{INSERT}"
    for operation in WriteOperation:
        if operation is not WriteOperation.DELETE_PARTITION:
            ordering = loaded(write_spec, text.replace("insert", operation)).table.ordering
            assert ordering == OrderingSpec.by_commit_time()
            assert ordering.columns == ()


def test_key_may_be_left_out_where_rows_come_from_a_source_alone(write_spec: Write) -> None:
    """It is automatic then, the warning shows the line, and with the line the spec is the same."""
    silent, said = (loaded(write_spec, TABLE + key + SOURCE + INSERT) for key in ("", KEY))
    assert [(w.rule, w.suggestion) for w in silent.warnings] == [
        ("spec/record-key-left-out", "record_key: auto")
    ]
    assert said.warnings == ()
    assert silent.table == said.table
    assert silent.table.record_key.columns == ()
    assert silent.content_hash == said.content_hash
    assert silent.stored() == said.stored()


def test_stored_spec_loads_as_the_same_spec(write_spec: Write) -> None:
    """Sections, words for mappings and sizes come back, without a warning."""
    text = (
        f"{TABLE}  ordering: commit_time\n"
        "source: {format: csv, path: lake/landing, options: {sep: ;}, schema: {b: INT, a: INT}}\n"
        "transforms: [{name: x, sql: SELECT 1}]\n"
        "write: {operation: upsert, target_file_size: 8MB, parallelism: 4}\n"
    )
    spec = loaded(write_spec, text)
    again = loaded(write_spec, json.dumps(spec.stored()))
    assert again.warnings == ()
    assert (again.table, again.source, again.write) == (spec.table, spec.source, spec.write)
    assert again.transforms == spec.transforms
    assert again.content_hash == spec.content_hash


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("insert}", "insert, target_file_size: 8MB}", True),
        ("insert}", "insert, small_file_limit: 8MB, parallelism: 4}", True),
        ("insert}", "insert, schema_evolution: freeze}", True),
        ("landing}", "landing, format: parquet, load: new_files, options: {}}", True),
        ("insert}", "bulk_insert}", False),
        ("insert}", "insert, schema_evolution: widen}", False),
        ("landing}", "landing2}", False),
        ("landing}", "landing, options: {mergeSchema: true}}", False),
        ("landing}", "landing, load: all}", False),
        ("landing}", "landing, schema: a INT}", False),
    ],
)
def test_hash_covers_what_is_loaded_and_not_how_it_is_cut_into_files(
    write_spec: Write, old: str, new: str, *, same: bool
) -> None:
    """Sizes and tasks may change; whatever decides on rows may not."""
    text = TABLE + KEY + SOURCE + INSERT
    first, second = loaded(write_spec, text), loaded(write_spec, text.replace(old, new))
    assert (first.content_hash == second.content_hash) is same


def test_hash_depends_on_the_order_of_the_schema_and_not_on_its_spelling(write_spec: Write) -> None:
    """Columns of a file without a header are identified by position."""
    schemas = ("'a INT, b INT'", "{a: INT, b: INT}", "{b: INT, a: INT}")
    hashes = [
        loaded(write_spec, f"{TABLE}{KEY}source: {{path: a, schema: {s}}}\n{INSERT}").content_hash
        for s in schemas
    ]
    assert hashes[0] == hashes[1] != hashes[2]
