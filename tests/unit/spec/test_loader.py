"""From a file to a checked spec; the file itself; finding files; the guide and shipped specs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import date
from pathlib import Path

import pytest
from pydantic import ValidationError

from framework.errors import SpecError
from framework.spec.document.source import MAX_BYTES
from framework.spec.loader import find_specs, load_spec
from framework.spec.sections.comparisons import Comparison
from framework.spec.sections.table_spec import (
    BLOOM_FALSE_POSITIVE_RATE,
    BLOOM_KIND,
    BLOOM_MAX_KEYS,
    PartitionColumn,
)
from framework.vocabulary import (
    BootstrapMode,
    KeyScope,
    OnDuplicate,
    PartitionType,
    SourceLayout,
    TableType,
)

Write = Callable[..., Path]


def test_sound_spec_has_its_values_and_defaults(write_spec: Write, spec_text: str) -> None:
    """What is written is there, what is not has its default, locations are absolute."""
    path = write_spec(spec_text)
    spec = load_spec(path)
    table, bootstrap = spec.table, spec.bootstrap
    assert bootstrap is not None
    assert (table.name, table.type) == ("nyc.flights", TableType.COPY_ON_WRITE)
    assert table.location == str(path.parent / "lake/flights")
    assert table.partition_by == (PartitionColumn(name="month", type=PartitionType.INT),)
    assert table.record_key.columns == ("year", "month", "day")
    assert table.record_key.unique_within is KeyScope.TABLE
    assert table.ordering is None
    assert (table.bloom.kind, table.bloom.expected_keys) == (BLOOM_KIND, None)
    assert table.bloom.false_positive_rate == BLOOM_FALSE_POSITIVE_RATE
    assert table.bloom.max_keys == BLOOM_MAX_KEYS
    assert bootstrap.path == str(path.parent / "lake/raw/flights")
    assert (bootstrap.layout, bootstrap.mode) == (SourceLayout.HIVE, BootstrapMode.METADATA_ONLY)
    assert (bootstrap.rules, bootstrap.parallelism) == ((), None)
    assert (bootstrap.on_duplicate, bootstrap.allow_empty) == (OnDuplicate.ABORT, False)
    assert (spec.spark, spec.warnings, spec.source_path) == (None, (), path)


def test_rules_have_typed_conditions(write_spec: Write, spec_text: str) -> None:
    """A rule's conditions are comparisons in the types of the partition columns."""
    text = spec_text.replace("{month: int}", "{month: int, day: date}") + (
        "  rules:\n"
        "    - {where: {day: '>= 2026-10-01', month: 8}, mode: full_record}\n"
        "    - {partition: 'month=1[0-2]/.*', mode: skip, may_match_nothing: true}\n"
    )
    spec = load_spec(write_spec(text))
    assert spec.bootstrap is not None
    first, second = spec.bootstrap.rules
    assert first.where == {"day": ">= 2026-10-01", "month": "8"}
    assert first.comparisons(spec.table.partition_by) == (
        Comparison(column="day", operator=">=", value=date(2026, 10, 1)),
        Comparison(column="month", operator="=", value=8),
    )
    assert (second.partition, second.may_match_nothing) == ("month=1[0-2]/.*", True)
    assert second.comparisons(spec.table.partition_by) == ()


def test_old_name_of_ordering_is_read(write_spec: Write, spec_text: str) -> None:
    """`precombine: ts` means `ordering: {columns: [ts]}`; both together are a fault."""
    old = spec_text.replace("copy_on_write\n", "merge_on_read\n  precombine: ts\n")
    spec = load_spec(write_spec(old))
    assert spec.table.ordering is not None
    assert spec.table.ordering.columns == ("ts",)
    assert [w.rule for w in spec.warnings] == ["spec/deprecated-name"]
    both = old.replace("precombine: ts\n", "precombine: ts\n  ordering: {columns: [ts]}\n")
    with pytest.raises(SpecError) as caught:
        load_spec(write_spec(both))
    assert [f.rule for f in caught.value.findings] == ["spec/unknown-field"]


def test_spec_cannot_be_changed(write_spec: Write, spec_text: str) -> None:
    """Values are frozen at every level."""
    spec = load_spec(write_spec(spec_text))
    with pytest.raises(FrozenInstanceError):
        spec.table = spec.table  # type: ignore[misc] # that it is refused is the point
    with pytest.raises(ValidationError):
        spec.table.name = "x"  # type: ignore[misc] # that it is refused is the point


def test_position_of_a_field_can_be_asked_later(write_spec: Write, spec_text: str) -> None:
    """Errors found against the source point at lines of the spec."""
    path = write_spec(spec_text)
    where = load_spec(path).positions.where("table.record_key.columns[2]")
    assert (where.file, where.line, where.column) == (str(path), 8, 28)


@pytest.mark.parametrize(
    ("content", "rule", "line", "column"),
    [
        (b"\xef\xbb\xbfversion: 1\n", "byte-order-mark", 1, 1),
        ("version: 1\n".encode("utf-16"), "not-utf8", 1, 1),
        ("version: 1\n".encode("utf-32"), "not-utf8", 1, 1),
        ("version: 1\n".encode("utf-16-le"), "control-character", 1, 2),
        (b"version: 1\nname: \xe9\n", "not-utf8", 2, 7),
        (b"version: 1\n\x00", "control-character", 2, 1),
        (b"a: \xee\x80\x80\n", "control-character", 1, 4),
        (b"#" * (MAX_BYTES + 1), "file-too-big", None, None),
        (b"#" * MAX_BYTES, "empty-file", 1, 1),
        (b"", "empty-file", 1, 1),
    ],
    ids=lambda value: str(value)[:16],
)
def test_file_that_is_not_plain_utf8_is_refused(
    tmp_path: Path, content: bytes, rule: str, line: int | None, column: int | None
) -> None:
    """Marks, other encodings, control characters and sheer size have rules of their own."""
    path = tmp_path / "x.pipeline.yml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    (finding,) = caught.value.findings
    assert finding.rule == f"spec/{rule}"
    assert (finding.where.line, finding.where.column) == (line, column)


def test_file_that_cannot_be_read_is_a_spec_error(tmp_path: Path) -> None:
    """A missing file and a folder are reported by name."""
    for path in (tmp_path / "none.pipeline.yml", tmp_path):
        with pytest.raises(SpecError) as caught:
            load_spec(path)
        assert caught.value.condition == "spec/unreadable-file"
        assert caught.value.where.file == str(path)


def test_hash_depends_on_content_and_not_on_spelling(write_spec: Write, spec_text: str) -> None:
    """Comments, order, quotes and defaults written out do not matter; values and Spark's do."""
    same = "\n".join(
        (
            "bootstrap: {mode: metadata_only, layout: 'hive', path: lake/raw/flights, rules: []}",
            "table: # what",
            "  record_key: {unique_within: table, columns: [year, month, day]}",
            "  bloom: {kind: dynamic}",
            "  readers: [trino]",
            *("  name: nyc.flights", "  location: lake/flights", "  partition_by: {month: int}"),
            "spark: {master: 'local[2]'}",
            "version: 1",
        )
    )
    first = load_spec(write_spec(spec_text)).content_hash
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert load_spec(write_spec(same)).content_hash == first
    for old, new in (
        ("[year, month, day]", "[year, day, month]"),
        ("metadata_only", "full_record"),
        ("lake/flights\n", "lake/flights2\n"),
        ("{month: int}", "{month: string}"),
    ):
        assert load_spec(write_spec(spec_text.replace(old, new))).content_hash != first


def test_hash_depends_on_the_order_of_partition_columns(write_spec: Write, spec_text: str) -> None:
    """Columns in another order make another table."""
    hashes = {
        load_spec(write_spec(spec_text.replace("{month: int}", columns))).content_hash
        for columns in ("{month: int, day: int}", "{day: int, month: int}")
    }
    assert len(hashes) == 2


def test_stored_spec_loads_as_the_same_spec(write_spec: Write, spec_text: str) -> None:
    """What is stored with the table is a spec again."""
    rest = "  rules: [{where: {month: 8}, mode: skip}]\nspark: {conf: {spark.a: 1}}\n"
    text = spec_text.replace("bootstrap:", "  readers: [trino, spark-hudi-0.15]\nbootstrap:")
    spec = load_spec(write_spec(text + rest))
    again = load_spec(write_spec(_as_yaml(spec.stored())))
    assert (again.table, again.bootstrap, again.spark) == (spec.table, spec.bootstrap, spec.spark)
    assert again.content_hash == spec.content_hash


def _as_yaml(value: object) -> str:
    """JSON-ready data as flow YAML, texts quoted."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_as_yaml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_yaml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else repr(value)


def test_folder_means_all_specs_below_it(tmp_path: Path) -> None:
    """Sorted, without hidden folders; files are taken as given, each path once."""
    for name in ("b.pipeline.yml", "a/z.pipeline.yml", "a/notes.yml", ".git/c.pipeline.yml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    both = (tmp_path / "a/z.pipeline.yml", tmp_path / "b.pipeline.yml")
    assert find_specs([tmp_path]) == both
    assert find_specs([both[1], tmp_path]) == (both[1], both[0])


def test_no_path_means_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paths stay relative, as the user would type them."""
    (tmp_path / "a.pipeline.yml").touch()
    monkeypatch.chdir(tmp_path)
    assert find_specs([]) == (Path("a.pipeline.yml"),)


def test_missing_paths_are_reported_at_once(tmp_path: Path) -> None:
    """Each missing file is a finding with the name that is nearly the same."""
    (tmp_path / "flights.pipeline.yml").touch()
    with pytest.raises(SpecError) as caught:
        find_specs([tmp_path / "flight.pipeline.yml", tmp_path / "none" / "x.pipeline.yml"])
    assert [(f.rule, f.suggestion) for f in caught.value.findings] == [
        ("spec/file-not-found", str(tmp_path / "flights.pipeline.yml")),
        ("spec/file-not-found", None),
    ]


def test_folder_without_specs_is_refused(tmp_path: Path) -> None:
    """Checking nothing is not success; a wrong ending is named."""
    with pytest.raises(SpecError) as caught:
        find_specs([tmp_path])
    assert caught.value.condition == "spec/no-specs"
    (tmp_path / "a.pipeline.yaml").touch()
    with pytest.raises(SpecError) as caught:
        find_specs([tmp_path])
    assert [(f.rule, f.suggestion) for f in caught.value.findings] == [
        ("spec/file-name", str(tmp_path / "a.pipeline.yml"))
    ]


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: "".join(f"layuot{i}: 1\n" for i in range(20_000 // n)),
        lambda n: "table:\n" + "".join(f"  k{i}: ${{var.lak{i}}}\n" for i in range(15_000 // n)),
        lambda n: "table:\n" + "".join(f"  k{i}: ${{env.HOMME{i}}}\n" for i in range(15_000 // n)),
        lambda n: (
            "table:\n  partition_by:\n" + "".join(f"    c{i}: int\n" for i in range(20_000 // n))
        ),
        lambda n: "bootstrap:\n  rules:\n" + "    - {partition: a, mode: skip}\n" * (10_000 // n),
        lambda n: "bootstrap:\n  rules:\n" + "    - {mode: '${secret.x}'}\n" * (10_000 // n),
        lambda n: (
            "table:\n  columns:\n"
            + "".join(f"    column{i}: {{}}\n" for i in range(9_000 // n))
            + "quality:\n  checks:\n"
            + "".join(f"    - {{name: a{i}, expect: colunm{i} > 0}}\n" for i in range(1_000 // n))
        ),
        lambda n: f"quality: {{checks: [{{name: a, expect: '{'x -> x + ' * (2_000 // n)}1'}}]}}\n",
        lambda n: (
            f"quality: {{checks: [{{name: a, expect: '{'a = NULL OR ' * (1_600 // n)}b'}}]}}\n"
        ),
        lambda n: f"quality: {{checks: [{{name: a, expect: '{'(' * (400_000 // n)}'}}]}}\n",
    ],
    ids=[
        *("fields", "variables", "environment", "columns", "rules", "secrets"),
        *("contract", "lambdas", "nulls", "brackets"),
    ],
)
def test_large_hostile_spec_is_answered_in_seconds(
    write_spec: Write, make: Callable[[int], str], share: int
) -> None:
    """Many faults cost time in proportion to the size, and warnings hide no error."""
    path = write_spec(make(share))
    begin = time.process_time()
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert time.process_time() - begin < 10
    assert any(finding.severity == "error" for finding in caught.value.findings)


def test_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    """A link that leads upwards makes no endless walk."""
    (tmp_path / "a.pipeline.yml").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    assert find_specs([tmp_path]) == (tmp_path / "a.pipeline.yml",)


def test_shipped_specs_load() -> None:
    """Each spec in `pipelines/` is valid."""
    paths = find_specs([Path("pipelines")])
    assert Path("pipelines/flights.pipeline.yml") in paths
    for path in paths:
        assert load_spec(path).warnings == ()


def _guide_blocks() -> list[str]:
    """The YAML blocks of the guide."""
    text = Path("docs/guide/specs.md").read_text("utf-8")
    return re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_yaml_of_the_guide_loads(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block is a spec, or the project file of the others, without faults."""
    monkeypatch.setenv("USER", "ada")
    monkeypatch.setenv("RUN_PIPELINE_SECRET_TOKEN", "x")
    blocks = _guide_blocks()
    (project,) = (block for block in blocks if "\nvariables:" in block)
    specs = [block for block in blocks if block is not project]
    assert len(specs) == 7
    for block in specs:
        given = {"month_type": "int"} if "month_type" in block else {}
        for target in ("dev", "prod"):
            spec = load_spec(write_spec(block, project), target=target, variables=given)
            assert spec.warnings == ()
