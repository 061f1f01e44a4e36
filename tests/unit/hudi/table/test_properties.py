"""`hoodie.properties`: what we write, and what we read of others."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, PlanError, UnsupportedTableError
from framework.hudi.codecs.java_properties import render
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import PROPERTIES, PROPERTIES_BACKUP
from framework.hudi.table.properties import (
    TableProperties,
    new_table_properties,
    read_properties,
    table_names,
)
from framework.vocabulary import TableType
from tests.support.golden_keys import RELEASES, golden_keys, rule_of

COW, MOR = TableType.COPY_ON_WRITE, TableType.MERGE_ON_READ


@pytest.fixture
def storage(request: pytest.FixtureRequest) -> MemoryStorage:
    """An empty storage of this test alone."""
    return MemoryStorage(request.node.nodeid)


def _put(storage: MemoryStorage, path: str, text: str) -> None:
    with storage.create(path) as out:
        out.write(text.encode("latin-1"))


def _new(
    name: str = "nyc.flights",
    table_type: TableType = COW,
    *,
    ordering: str | None = None,
    source: str | None = None,
) -> TableProperties:
    """Return properties of a new table with key `id` and one partition column."""
    return new_table_properties(
        name,
        table_type,
        key_properties=rule_of("id", partitions=1).properties(),
        ordering_field=ordering,
        bootstrap_base_path=source,
    )


def test_new_table_pins_version_timezone_and_checksum() -> None:
    """What Java would otherwise guess by its newest version."""
    raw = _new().raw
    assert raw["hoodie.table.version"] == "6"
    assert raw["hoodie.timeline.layout.version"] == "1"
    assert raw["hoodie.table.timeline.timezone"] == "UTC"
    assert raw["hoodie.table.checksum"] == str(zlib.crc32(b"nyc.flights"))
    assert raw["hoodie.table.type"] == "COPY_ON_WRITE"


def test_new_table_without_database_has_a_checksum_that_begins_with_a_dot() -> None:
    """As Hudi's generateChecksum does with a missing database."""
    raw = _new("flights").raw
    assert "hoodie.database.name" not in raw
    assert raw["hoodie.table.checksum"] == str(zlib.crc32(b".flights"))


def test_checksum_of_a_table_that_hudi_made_fits() -> None:
    """A value of Hudi's own: database `default`, table `golden`."""
    text = "hoodie.table.name=golden\nhoodie.table.checksum={}\n"
    right = TableProperties.parse(text.format(zlib.crc32(b".golden")), "f")
    assert right.checksum_ok is True
    assert TableProperties.parse(text.format("1"), "f").checksum_ok is False
    assert TableProperties.parse("hoodie.table.name=golden", "f").checksum_ok is None


@pytest.mark.parametrize(
    ("table_type", "ordering", "payload"),
    [
        (COW, None, None),
        (COW, "ts", None),
        (MOR, None, "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
        (MOR, "ts", "org.apache.hudi.common.model.DefaultHoodieRecordPayload"),
    ],
)
def test_new_merge_on_read_table_has_a_payload_class_that_fits_its_ordering(
    table_type: TableType, ordering: str | None, payload: str | None
) -> None:
    """The default payload changed over releases; written down, no two readers disagree."""
    found = _new(table_type=table_type, ordering=ordering)
    assert (found.payload_class, found.ordering_field) == (payload, ordering)


def test_new_table_has_a_bootstrap_path_only_where_there_are_skeletons() -> None:
    """And never the index class, whose name moved between releases, nor a metadata table."""
    for source in (None, "file:///raw/flights"):
        found = _new(source=source)
        assert found.bootstrap_base_path == source
        assert ("hoodie.bootstrap.base.path" in found.raw) is (source is not None)
        assert "hoodie.bootstrap.index.class" not in found.raw
        assert found.metadata_partitions == ()


def test_properties_text_is_the_same_on_each_attempt() -> None:
    """Sorted entries, no date."""
    assert _new().render() == _new().render()
    assert _new().render().startswith("#Properties saved by Lakestrap\n")


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.property
@given(
    st.dictionaries(WORDS.map(lambda word: f"x.{word}"), WORDS, max_size=4),
    st.from_regex("[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True),
    st.sampled_from([COW, MOR]),
)
def test_properties_come_back_from_their_text(
    others: dict[str, str], name: str, table_type: TableType
) -> None:
    """Whatever others wrote beside ours is kept as it was."""
    ours = _new(name, table_type, ordering="ts", source="file:///a b:c=d#e")
    mixed = TableProperties.of({**others, **ours.raw}, PROPERTIES)
    assert TableProperties.parse(mixed.render(), PROPERTIES) == mixed


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("flights", ("", "flights")),
        ("nyc.flights", ("nyc", "flights")),
        ("my-db.my-table", ("my__db", "my__table")),
        ("a.b.c", ("a", "b__c")),
        ("1x", ("", "__x")),
        ("é t", ("", "____t")),
    ],
)
def test_table_names_are_made_safe_as_hudi_does(name: str, names: tuple[str, str]) -> None:
    """A dot makes 0.15.0 refuse upserts, a dash breaks reads."""
    assert table_names(name) == names


@pytest.mark.parametrize("name", ["", ".", "a.", ".b"])
def test_table_name_without_a_table_or_database_is_refused(name: str) -> None:
    """A dot promises two names."""
    with pytest.raises(PlanError) as caught:
        table_names(name)
    assert caught.value.condition == "table/bad-name"


def test_newer_family_of_keys_is_read() -> None:
    """Versions 8 and 9 renamed half of them."""
    found = TableProperties.parse(
        render(
            {
                "hoodie.table.name": "t",
                "hoodie.table.type": "MERGE_ON_READ",
                "hoodie.table.version": "9",
                "hoodie.timeline.layout.version": "2",
                "hoodie.table.keygenerator.type": "CUSTOM",
                "hoodie.table.partition.fields": "a:SIMPLE,b:TIMESTAMP",
                "hoodie.table.ordering.fields": "ts,seq",
                "hoodie.table.metadata.partitions": "files, column_stats",
                "hoodie.table.metadata.partitions.inflight": "record_index",
            }
        ),
        "f",
    )
    assert (found.version, found.layout, found.table_type) == (9, 2, MOR)
    assert found.key_generator == "org.apache.hudi.keygen.CustomKeyGenerator"
    assert found.partition_fields == ("a", "b")
    assert (found.ordering_fields, found.ordering_field) == (("ts", "seq"), "ts")
    assert found.metadata_partitions == ("files", "column_stats", "record_index")
    assert found.timezone == "LOCAL"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("case", ["simple/upsert", "custom/upsert", "nonpartitioned/upsert"])
def test_properties_that_hudi_wrote_name_the_generator(release: str, case: str) -> None:
    """0.15.0 writes a class at version 6, 1.2.0 a type."""
    theirs = golden_keys(release)["properties"][case]
    found = TableProperties.of({"hoodie.table.name": "golden", **theirs}, "f")
    expected = {"simple": "Simple", "custom": "Custom", "nonpartitioned": "Nonpartitioned"}
    name = expected[case.partition("/")[0]]
    assert found.key_generator == f"org.apache.hudi.keygen.{name}KeyGenerator"
    assert (found.version, found.layout, found.hive_style) == (6, 1, True)


@pytest.mark.parametrize(
    ("text", "kind", "condition"),
    [
        ("", CorruptFileError, "properties/no-table-name"),
        ("hoodie.table.version=6", CorruptFileError, "properties/no-table-name"),
        ("hoodie.table.name=t\nhoodie.table.version=six", CorruptFileError, "properties/bad-value"),
        (
            f"hoodie.table.name=t\nhoodie.table.version={'9' * 5000}",
            CorruptFileError,
            "properties/bad-value",
        ),
        (
            "hoodie.table.name=t\nhoodie.table.type=X",
            UnsupportedTableError,
            "properties/table-type",
        ),
    ],
)
def test_text_that_is_no_table_raises(
    text: str, kind: type[CorruptFileError | UnsupportedTableError], condition: str
) -> None:
    """Each fault has its own condition and names the file."""
    with pytest.raises(kind) as caught:
        TableProperties.parse(text, "t/.hoodie/hoodie.properties")
    assert caught.value.condition == condition
    assert caught.value.where.file == "t/.hoodie/hoodie.properties"


def test_reading_where_there_is_no_table_gives_none(storage: MemoryStorage) -> None:
    """Neither file: no table."""
    assert read_properties(storage) is None


def test_reading_prefers_the_main_file(storage: MemoryStorage) -> None:
    """A backup beside it is of an update that ended."""
    _put(storage, PROPERTIES, _new("main").render())
    _put(storage, PROPERTIES_BACKUP, _new("backup").render())
    found = read_properties(storage)
    assert found is not None
    assert found.name == "main"


@pytest.mark.parametrize("main", [None, "", "hoodie.table.name=main\nhoodie.table.checksum=1\n"])
def test_reading_falls_back_to_the_backup(storage: MemoryStorage, main: str | None) -> None:
    """A writer died while it replaced the file: missing, empty or torn."""
    if main is not None:
        _put(storage, PROPERTIES, main)
    _put(storage, PROPERTIES_BACKUP, _new("backup").render())
    found = read_properties(storage)
    assert found is not None
    assert found.name == "backup"


def test_reading_a_wrong_checksum_without_backup_raises(storage: MemoryStorage) -> None:
    """Java refuses such a table too."""
    _put(storage, PROPERTIES, "hoodie.table.name=t\nhoodie.table.checksum=1\n")
    with pytest.raises(CorruptFileError) as caught:
        read_properties(storage)
    assert caught.value.condition == "properties/checksum"
    assert str(caught.value.where.file).endswith(PROPERTIES)
