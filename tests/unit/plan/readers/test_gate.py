"""The reader gate: verdicts for each kind of table, and each named exception."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from framework.plan.definition import Plan
from framework.plan.observation import Observation
from framework.plan.readers.exceptions import EXCEPTIONS, Trait
from framework.plan.readers.gate import ReaderGate, ReaderVerdict, gate, reader_groups, reader_word
from framework.plan.readers.versions import READERS, Ability
from framework.vocabulary import ReaderName, SourceTrait
from tests.interop.differences import DIFFERENCES, RELEASES
from tests.support.planning import FLIGHTS_SCHEMA, a_plan, a_source, a_table, partition

NO, UNPROVEN, DOCUMENTED, YES = Ability
FULL = {"mode: metadata_only": "mode: full_record"}


def verdict_on(found: ReaderGate, engine: str, version: str) -> ReaderVerdict:
    """Return the verdict on one reader."""
    return next(v for v in found.verdicts if (v.engine, v.version) == (engine, version))


def hudi(found: ReaderGate, version: str) -> tuple[Ability, Ability, tuple[str, ...]]:
    """Return abilities and exceptions of Apache Hudi on Spark."""
    verdict = verdict_on(found, "Spark with Apache Hudi", version)
    return verdict.reads, verdict.continues, verdict.exceptions


def plan_of(
    folder: Path,
    *,
    schema: pa.Schema = FLIGHTS_SCHEMA,
    path: str = "month=1",
    traits: Mapping[str, int] | None = None,
    changes: Mapping[str, str] | None = None,
) -> Plan:
    """Return the plan of one partition of two files."""
    source = a_source(partition(path, 0, files=2, traits=dict(traits or {})), schema=schema)
    return a_plan(folder, Observation(table=a_table(), source=source), changes=changes)


def names_of(plan: Plan) -> set[str]:
    """Return the names of the exceptions that apply."""
    return {exception.name for exception in plan.readers.exceptions}


def test_readers_and_exceptions_have_distinct_names_and_known_readers() -> None:
    """The two tables fit together."""
    keys = {reader.key for reader in READERS}
    assert len(keys) == len(READERS)
    assert len({e.name for e in EXCEPTIONS}) == len(EXCEPTIONS)
    assert all(set(e.readers) <= keys for e in EXCEPTIONS)


def test_exceptions_are_those_that_the_judges_found() -> None:
    """Each difference that a judged release shows is named, for just the releases that show it."""
    versions = {reader.key: reader.version for reader in READERS}
    named = {e.name: {versions[key] for key in e.readers} for e in EXCEPTIONS}
    for name, difference in DIFFERENCES.items():
        assert named[name] & set(RELEASES) == set(difference.releases), name


def test_exceptions_fill_in_each_message() -> None:
    """With every trait there, every message is whole and says what full_record changes."""
    found = gate(dict.fromkeys(Trait, "x"))
    assert len(found.exceptions) == len(EXCEPTIONS)
    assert all("{" not in e.message and e.full_record and e.readers for e in found.exceptions)


def test_gate_of_a_table_with_skeletons_is_for_spark_and_trino_alone() -> None:
    """Tested releases of Spark read and continue, Trino reads; no other is proven to."""
    found = gate({Trait.SKELETONS: ""})
    for version in ("1.2.0", "1.1.x", "1.0.x"):
        assert hudi(found, version) == (YES, YES, ("auto-upgrade-loses-rows",))
    assert hudi(found, "0.15.0") == (YES, YES, ())
    trino = verdict_on(found, "Trino", "476")
    assert (trino.reads, trino.continues) == (YES, NO)
    assert trino.exceptions == ("null-meta-columns",)
    others = [v for v in found.verdicts if v.engine != "Spark with Apache Hudi" and v != trino]
    assert {v.engine for v in others} == {"Trino", "hudi-rs", "Hive", "Athena", "Flink"}
    assert all(v.reads in {NO, UNPROVEN} and v.note for v in others)


def test_gate_of_partitions_whose_folder_is_not_their_value_names_trino() -> None:
    """Whether their files are skeletons or full."""
    for traits in ({}, {Trait.SKELETONS: ""}):
        found = gate({**traits, Trait.ESCAPED_VALUE: "partition 'a%3Ab'"})
        trino = verdict_on(found, "Trino", "476")
        assert trino.reads is NO
        assert "partition-value-by-its-folder" in trino.exceptions
        assert hudi(found, "1.2.0")[0] is YES


@pytest.mark.parametrize(
    ("path", "named"),
    [("month=a%3Ab", True), ("month=__HIVE_DEFAULT_PARTITION__", True), ("month=a", False)],
)
def test_plan_with_a_partition_whose_folder_is_not_its_value_names_trino(
    tmp_path: Path, path: str, *, named: bool
) -> None:
    """Written in full too."""
    changes = {"{month: int}": "{month: string}", "year, month, day": "year, day"}
    for more in ({}, FULL):
        plan = plan_of(tmp_path, path=path, changes=changes | more)
        assert ("partition-value-by-its-folder" in names_of(plan)) is named


def test_gate_of_a_table_of_full_files_opens_it_to_others() -> None:
    """Without skeletons nothing is named against Spark, and readers of version 6 read."""
    found = gate({})
    assert found.exceptions == ()
    assert hudi(found, "0.15.0") == (YES, YES, ())
    assert verdict_on(found, "Trino", "476").reads is YES
    assert verdict_on(found, "hudi-rs", "0.5.0").reads is YES
    assert all(v.note == "" for v in found.verdicts)


@pytest.mark.parametrize(
    ("trait", "name", "version", "expected"),
    [
        (Trait.INT96, "int96-cannot-be-rewritten", "1.2.0", (YES, NO)),
        (Trait.INT96, "int96-cannot-be-rewritten", "0.15.0", (YES, NO)),
        (Trait.MILLISECOND, "millisecond-timestamp", "0.15.0", (YES, NO)),
        (Trait.MILLISECOND, "millisecond-timestamp", "1.0.x", (YES, NO)),
        (Trait.MILLISECOND, None, "1.1.x", (YES, YES)),
        (Trait.NAIVE_TIMESTAMP, "naive-timestamp", "0.15.0", (NO, NO)),
        (Trait.NAIVE_TIMESTAMP, "naive-timestamp", "1.0.x", (NO, NO)),
        (Trait.NAIVE_TIMESTAMP, None, "1.2.0", (YES, YES)),
        (Trait.NANOSECOND, "nanosecond-timestamp", "1.2.0", (NO, NO)),
        (Trait.TIME, "time-of-day", "1.1.x", (NO, NO)),
        (Trait.FLOAT16, "half-float", "1.0.x", (NO, NO)),
        (Trait.ESCAPED_PATH_ONLY, "escaped-path-only-value", "0.15.0", (NO, YES)),
        (Trait.ESCAPED_PATH_ONLY, None, "1.0.x", (YES, YES)),
        (Trait.FIXED_BINARY, "fixed-binary", "1.0.x", (YES, NO)),
        (Trait.FIXED_BINARY, None, "1.2.0", (YES, YES)),
        (Trait.TYPED_PATH_ONLY, "typed-path-only-partition", "0.15.0", (YES, NO)),
        (Trait.TYPED_PATH_ONLY, None, "1.1.x", (YES, YES)),
        (Trait.DATE_PATH_ONLY, "date-path-only-partition", "0.15.0", (YES, NO)),
        (Trait.DATE_PATH_ONLY, "date-path-only-partition", "1.2.0", (YES, NO)),
        (Trait.DEFAULT_PARTITION, "default-partition", "0.15.0", (YES, NO)),
        (Trait.DEFAULT_PARTITION, None, "1.0.x", (YES, YES)),
        (Trait.DATE_ORDERING, "date-ordering-field", "1.2.0", (YES, NO)),
        (Trait.DATE_ORDERING, None, "1.0.x", (YES, YES)),
        (Trait.CUSTOM_KEYS, "custom-keys-in-sql", "1.2.0", (YES, YES)),
        (Trait.LIST, "null-in-list", "1.2.0", (YES, YES)),
        (Trait.LIST, "null-in-list", "0.15.0", (YES, YES)),
        (Trait.WIDENED, None, "0.15.0", (YES, YES)),
        (Trait.WIDENED_FLOAT, "float-read-as-double", "1.2.0", (YES, YES)),
        (Trait.WIDENED_NESTED, "nested-field-in-a-narrower-type", "0.15.0", (NO, NO)),
        (Trait.WIDENED_NESTED, None, "1.1.x", (YES, YES)),
    ],
)
def test_gate_of_skeletons_with_a_trait_lowers_just_those_whom_it_concerns(
    trait: Trait, name: str | None, version: str, expected: tuple[Ability, Ability]
) -> None:
    """Each exception, on a release that it concerns and on one that it does not."""
    reads, continues, exceptions = hudi(gate({Trait.SKELETONS: "", trait: "x"}), version)
    assert (reads, continues) == expected
    assert name is None or name in exceptions


@pytest.mark.parametrize(
    "trait",
    [
        Trait.INT96,
        Trait.MILLISECOND,
        Trait.ESCAPED_PATH_ONLY,
        Trait.TYPED_PATH_ONLY,
        Trait.DATE_PATH_ONLY,
        Trait.DEFAULT_PARTITION,
        Trait.FIXED_BINARY,
        Trait.DECIMAL_INTEGER,
    ],
)
def test_gate_of_full_files_with_a_skeleton_trait_names_nothing(trait: Trait) -> None:
    """What full_record would change is changed."""
    assert gate({trait: "x"}).exceptions == ()


def test_gate_of_full_files_with_a_type_that_stays_names_it() -> None:
    """A copy of the rows keeps the type, so it does not help the releases before 1.1."""
    found = gate({Trait.NAIVE_TIMESTAMP: "x"})
    assert [hudi(found, v)[1] for v in ("1.2.0", "1.1.x", "1.0.x", "0.15.0")] == [YES, YES, NO, NO]
    assert [e.full_record for e in found.exceptions] == ["nothing while the column keeps its type"]


def test_gate_lists_the_readers_of_an_exception() -> None:
    """One text for all readers, versions joined by engine."""
    found = {e.name: e.who for e in gate(dict.fromkeys(Trait, "x")).exceptions}
    assert found["millisecond-timestamp"] == "Spark with Apache Hudi 1.0.x, 0.15.0"
    assert found["read-optimized-only"] == "Trino 476; Athena engine 3"


def test_gate_of_a_merge_on_read_table_describes_what_trino_reads() -> None:
    """Read-optimized only."""
    found = gate({Trait.MERGE_ON_READ: ""})
    assert verdict_on(found, "Trino", "476").exceptions == ("read-optimized-only",)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"location: /lake/flights": "location: s3://bucket/flights"}, True),
        ({"location: /lake/flights": "location: s3://bucket/flights", **FULL}, False),
        ({}, False),
    ],
)
def test_plan_with_the_source_in_another_store_names_the_compaction_that_fails(
    tmp_path: Path, changes: Mapping[str, str], *, named: bool
) -> None:
    """Of Apache Hudi 1.2.0, on a merge-on-read table; the verdict is unchanged."""
    for kind in ("copy_on_write", "merge_on_read\n  ordering: commit_time"):
        plan = plan_of(tmp_path, changes={**changes, "copy_on_write": kind})
        is_there = "source-in-another-store" in names_of(plan)
        assert is_there is (named and kind != "copy_on_write")


def test_gate_of_merge_on_read_skeletons_names_the_index_to_use() -> None:
    """Writing works with another index, so the verdict is unchanged."""
    found = gate({Trait.SKELETONS: "", Trait.MERGE_ON_READ: ""})
    assert hudi(found, "1.0.x") == (
        YES,
        YES,
        ("auto-upgrade-loses-rows", "global-index-on-merge-on-read"),
    )
    assert hudi(found, "1.1.x")[2] == ("auto-upgrade-loses-rows",)


@pytest.mark.parametrize(
    ("trait", "name", "condition"),
    [
        (SourceTrait.INT96, "int96-cannot-be-rewritten", "source/int96"),
        (SourceTrait.MILLISECOND, "millisecond-timestamp", "source/millisecond"),
    ],
)
def test_plan_with_files_that_a_write_spoils_names_them_and_offers_the_rule(
    tmp_path: Path, trait: SourceTrait, name: str, condition: str
) -> None:
    """They can be read, not rewritten: the rule to write them in full is ready to paste."""
    plan = plan_of(tmp_path, traits={trait: 2})
    exception = next(e for e in plan.readers.exceptions if e.name == name)
    assert "2 files in 'month=1'" in exception.message
    note = plan.notes[0]
    assert (note.level, note.condition) == ("warning", condition)
    rule = "- {partition: 'month=1', mode: full_record}"
    assert rule in note.message
    changes = {"mode: metadata_only\n": f"mode: metadata_only\n  rules:\n    {rule}\n"}
    fixed = plan_of(tmp_path, traits={trait: 2}, changes=changes)
    assert name not in names_of(fixed)
    assert [n.condition for n in fixed.notes] == ["key/text-may-collide"]


@pytest.mark.parametrize("trait", [SourceTrait.LEGACY_CALENDAR, SourceTrait.EARLY_DAYS])
def test_plan_with_files_of_early_days_names_them_unless_they_are_written_in_full(
    tmp_path: Path, trait: SourceTrait
) -> None:
    """What we write says that its days are Gregorian."""
    plan = plan_of(tmp_path, traits={trait: 2})
    (found,) = (e for e in plan.readers.exceptions if e.name == trait.replace("_", "-"))
    assert "2 files in 'month=1'" in found.message
    assert names_of(plan_of(tmp_path, traits={trait: 2}, changes=FULL)) == set()


@pytest.mark.parametrize("trait", [SourceTrait.INT96, SourceTrait.MILLISECOND])
def test_plan_in_full_of_files_that_a_write_spoils_names_nothing(
    tmp_path: Path, trait: SourceTrait
) -> None:
    """Files that are written in full have INT64 timestamps in microseconds."""
    assert names_of(plan_of(tmp_path, traits={trait: 2}, changes=FULL)) == set()


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("us"),
        pa.timestamp("ms"),
        pa.struct([("at", pa.timestamp("us"))]),
        pa.list_(pa.timestamp("us")),
    ],
)
def test_plan_with_naive_timestamps_names_the_column(tmp_path: Path, kind: pa.DataType) -> None:
    """Also where they are nested."""
    plan = plan_of(tmp_path, schema=FLIGHTS_SCHEMA.append(pa.field("seen", kind)))
    exception = next(e for e in plan.readers.exceptions if e.name == "naive-timestamp")
    assert "column seen" in exception.message
    assert exception.who == "Spark with Apache Hudi 1.0.x, 0.15.0"


def test_plan_with_zoned_timestamps_names_nothing(tmp_path: Path) -> None:
    """A time zone makes the instant plain."""
    assert "naive-timestamp" not in names_of(plan_of(tmp_path))


def test_plan_with_binary_values_of_a_fixed_length_names_the_column(tmp_path: Path) -> None:
    """Of files that stay as they are; `full_record` stores plain bytes."""
    traits = {SourceTrait.FIXED_BINARY.value: 2}
    plan = plan_of(tmp_path, traits=traits)
    exception = next(e for e in plan.readers.exceptions if e.name == "fixed-binary")
    assert "2 files in 'month=1'" in exception.message
    assert "fixed-binary" not in names_of(plan_of(tmp_path, traits=traits, changes=FULL))


PATH_ONLY = {
    *("typed-path-only-partition", "date-path-only-partition", "default-partition"),
}


@pytest.mark.parametrize(
    ("kind", "path", "names"),
    [
        ("int", "month=1", {"typed-path-only-partition"}),
        ("long", "month=1", {"typed-path-only-partition"}),
        ("boolean", "month=true", {"typed-path-only-partition"}),
        ("date", "month=2024-02-29", {"date-path-only-partition"}),
        ("string", "month=a", set()),
        ("string", "month=__HIVE_DEFAULT_PARTITION__", {"default-partition"}),
    ],
)
def test_plan_with_a_partition_column_in_the_path_only_names_what_fails(
    tmp_path: Path, kind: str, path: str, names: set[str]
) -> None:
    """By its type; with the rows copied nothing does, with the column in the files only NULL."""
    changes = {"{month: int}": f"{{month: {kind}}}", "year, month, day": "year, day"}
    assert names_of(plan_of(tmp_path, path=path, changes=changes)) & PATH_ONLY == names
    assert not names_of(plan_of(tmp_path, path=path, changes=changes | FULL)) & PATH_ONLY
    types = {"int": pa.int32(), "long": pa.int64(), "boolean": pa.bool_(), "date": pa.date32()}
    inside = FLIGHTS_SCHEMA.append(pa.field("month", types.get(kind, pa.string())))
    again = plan_of(tmp_path, path=path, schema=inside, changes=changes)
    assert names_of(again) & PATH_ONLY == names & {"default-partition"}


def test_plan_with_an_escaped_value_that_no_file_holds_names_it(tmp_path: Path) -> None:
    """0.15.0 shows the escape; with the column in the files it does not matter."""
    changes = {"{month: int}": "{month: string}"}
    plan = plan_of(tmp_path, path="month=a%3Ab", changes=changes)
    assert "escaped-path-only-value" in names_of(plan)
    inside = FLIGHTS_SCHEMA.append(pa.field("month", pa.string()))
    again = plan_of(tmp_path, path="month=a%3Ab", schema=inside, changes=changes)
    assert "escaped-path-only-value" not in names_of(again)


@pytest.mark.parametrize(("kind", "named"), [(pa.date32(), True), (pa.int64(), False)])
def test_plan_with_a_date_ordering_field_names_it(
    tmp_path: Path, kind: pa.DataType, *, named: bool
) -> None:
    """Apache Hudi's upsert into a skeleton fails on it."""
    changes = {"copy_on_write": "merge_on_read\n  ordering: {columns: [updated]}"}
    schema = FLIGHTS_SCHEMA.append(pa.field("updated", kind))
    plan = plan_of(tmp_path, schema=schema, changes=changes)
    assert ("date-ordering-field" in names_of(plan)) is named


def test_plan_with_one_key_and_two_partition_columns_names_custom_keys(tmp_path: Path) -> None:
    """The commonest lake: upserts by DataFrame are right, by SQL they fail."""
    changes = {
        "{month: int}": "{month: int, day: int}",
        "[year, month, day, carrier, flight, origin]": "[flight]",
    }
    schema = FLIGHTS_SCHEMA.remove(FLIGHTS_SCHEMA.get_field_index("day"))
    plan = plan_of(tmp_path, path="month=1/day=2", schema=schema, changes=changes)
    assert "custom-keys-in-sql" in names_of(plan)


def test_reader_groups_of_a_table_with_skeletons_join_versions() -> None:
    """Readers with equal verdicts share one line."""
    assert reader_groups(gate({Trait.SKELETONS: ""})) == (
        ("read and write on", "Spark with Apache Hudi 1.2.0, 1.1.x, 1.0.x, 0.15.0"),
        ("read only", "Trino 476"),
        ("unproven", "Trino hudi-trino 1.2.1; Athena engine 3; Flink"),
        ("cannot read", "hudi-rs 0.5.0; Hive"),
    )


def test_reader_groups_of_full_files_mark_what_is_only_documented() -> None:
    """A vendor's word is marked as such."""
    assert dict(reader_groups(gate({})))["read only"] == (
        "Trino 476; hudi-rs 0.5.0; Hive (as documented); Athena engine 3 (as documented)"
    )


@pytest.mark.parametrize(
    ("reads", "continues", "word"),
    [
        (NO, NO, "cannot read"),
        (UNPROVEN, NO, "unproven"),
        (YES, NO, "read only"),
        (DOCUMENTED, NO, "read only"),
        (YES, YES, "read and write on"),
        (YES, UNPROVEN, "read, writing unproven"),
    ],
)
def test_reader_word_of_any_abilities_is_plain(
    reads: Ability, continues: Ability, word: str
) -> None:
    """A word or two for each pair."""
    verdict = ReaderVerdict(
        name=ReaderName.TRINO,
        engine="e",
        version="1",
        reads=reads,
        continues=continues,
        exceptions=(),
        note="",
    )
    assert reader_word(verdict) == word
