"""One skeleton beside its source: aligned, complete, and the same in every attempt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import CorruptFileError
from framework.hudi.bootstrap.fingerprint import Fingerprint
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.skeleton import (
    SOURCE,
    BaseFileTarget,
    WrittenBaseFile,
    base_file_name,
    file_id,
    write_skeleton,
)
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.codecs.bloom import BloomFilter
from framework.hudi.filegroup.base_file import (
    BLOOM,
    BLOOM_TYPE,
    MAX_KEY,
    MIN_KEY,
    check_keys,
    key_digest,
)
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.local import LocalStorage
from framework.vocabulary import BloomKind, BootstrapMode
from tests.support.sources import a_fingerprint, a_rule, a_source, ids

PATH = "p=1/part.parquet"


def written(root: Path, rule: KeyRule, schema: pa.Schema, **values: Any) -> WrittenBaseFile:
    """Write the skeleton of the file at `PATH`."""
    storage = LocalStorage(str(root))
    identity = file_id(PATH, BootstrapMode.METADATA_ONLY)
    target = BaseFileTarget(
        instant="00000000000001",
        number=3,
        partition_path="p=1",
        file_id=identity,
        name=base_file_name(identity, 3, "00000000000001"),
        rule=rule,
        values={"p": 1, **values},
        key_schema=schema,
        bloom=BloomChoice(kind=BloomKind.SIMPLE.value),
    )
    with open_source(storage, a_fingerprint(storage, PATH)) as source:
        return write_skeleton(source, target)


ID = pa.schema([("id", pa.int64())])


def test_skeleton_is_aligned_row_group_for_row_group(tmp_path: Path) -> None:
    """Row i of row group g belongs to row i of the source's row group g."""
    a_source(tmp_path, {PATH: ids(*range(25))}, row_group_size=10)
    made = written(tmp_path, a_rule(), ID)
    parquet = pq.ParquetFile(pa.BufferReader(made.data))
    assert [parquet.metadata.row_group(i).num_rows for i in range(3)] == [10, 10, 5]
    keys = parquet.read(["_hoodie_record_key"]).column(0).to_pylist()
    assert keys == [str(row) for row in range(25)]
    assert made.hashes.size == 25
    assert made.facts.increasing


def test_skeleton_footers_hold_what_hudi_looks_for(tmp_path: Path) -> None:
    """Bloom filter, its type, bounds, Avro schema, and the source's fingerprint."""
    a_source(tmp_path, {PATH: ids(7, 30, 200)})
    made = written(tmp_path, a_rule(), ID)
    found = {k.decode(): v.decode() for k, v in _metadata(made.data).items()}
    assert (found[MIN_KEY], found[MAX_KEY], found[BLOOM_TYPE]) == ("200", "7", "SIMPLE")
    bloom = BloomFilter.parse(found[BLOOM], BloomKind.SIMPLE)
    assert bloom.might_contain(pa.array(["7", "30", "200"])).all()
    avro = json.loads(found["parquet.avro.schema"])
    assert [field["name"] for field in avro["fields"]] == pq.read_schema(
        pa.BufferReader(made.data)
    ).names
    assert found["writer.model.name"] == "avro"
    assert Fingerprint.from_json(found[SOURCE]) == a_fingerprint(LocalStorage(str(tmp_path)), PATH)


def test_skeleton_of_empty_file_has_an_empty_filter(tmp_path: Path) -> None:
    """Without it, Apache Hudi's bloom index fails (format sheet, section 7.3b)."""
    a_source(tmp_path, {PATH: ids()})
    made = written(tmp_path, a_rule(), ID)
    found = _metadata(made.data)
    assert BLOOM.encode() in found
    assert MIN_KEY.encode() not in found
    assert pq.read_table(pa.BufferReader(made.data)).num_rows == 0
    assert made.facts.rows == 0


def test_skeleton_same_source_gives_same_bytes(tmp_path: Path) -> None:
    """Nothing in it depends on when or where it was made."""
    a_source(tmp_path, {PATH: ids(*range(1000))})
    assert written(tmp_path, a_rule(), ID).data == written(tmp_path, a_rule(), ID).data


def test_skeleton_key_parts_of_the_folder_are_used(tmp_path: Path) -> None:
    """A key column that only the path has comes from its value."""
    a_source(tmp_path, {PATH: ids(5)})
    made = written(tmp_path, a_rule("p", "id"), ID)
    table = pq.read_table(pa.BufferReader(made.data))
    assert table["_hoodie_record_key"].to_pylist() == ["p:1,id:5"]


def test_skeleton_key_column_missing_in_one_file_counts_as_null(tmp_path: Path) -> None:
    """The gate refuses it later, with file and row; nothing is made up."""
    a_source(tmp_path, {PATH: ids(5, 6)})
    schema = ID.append(pa.field("other", pa.string()))
    assert written(tmp_path, a_rule("id", "other"), schema).facts.null_keys == 2


def test_skeleton_partition_column_in_some_files_comes_from_the_folder(tmp_path: Path) -> None:
    """Where other files have the column and this one leaves it to its folder."""
    a_source(tmp_path, {PATH: ids(5)})
    schema = pa.schema([("p", pa.int32()), ("id", pa.int64())])
    made = written(tmp_path, a_rule("p", "id"), schema)
    assert made.facts.min_key == "p:1,id:5"


def test_skeleton_narrow_key_column_is_widened(tmp_path: Path) -> None:
    """An int in one file and a long in another give the same order and text."""
    a_source(tmp_path, {PATH: pa.table({"id": pa.array([5], pa.int32())})})
    wide = written(tmp_path, a_rule(), ID).facts
    a_source(tmp_path, {PATH: ids(5)})
    assert written(tmp_path, a_rule(), ID).facts == wide


def test_check_keys_other_keys_are_refused(tmp_path: Path) -> None:
    """A file that does not hold what was computed never reaches the table."""
    a_source(tmp_path, {PATH: ids(1, 2, 3)})
    data = written(tmp_path, a_rule(), ID).data
    digest = key_digest([pa.array(["1", "2", "3"])])
    check_keys(data, [digest], "f")
    for wrong in (["1", "2", "4"], ["1", "23"], ["1", "2"], ["12", "", "3"]):
        with pytest.raises(CorruptFileError) as caught:
            check_keys(data, [key_digest([pa.array(wrong)])], "f")
        assert caught.value.condition == "bootstrap/read-back-differs"
    with pytest.raises(CorruptFileError):
        check_keys(data, [digest, digest], "f")


def test_key_digest_does_not_depend_on_cuts() -> None:
    """Slices and chunks of the same keys have one digest."""
    whole = pa.array(["a", "bc", "", "def"])
    assert key_digest([whole]) == key_digest([whole.slice(0, 1), whole.slice(1)])


def _metadata(data: bytes) -> dict[bytes, bytes]:
    """Return the footer's key-values."""
    found: dict[bytes, bytes] = pq.read_metadata(pa.BufferReader(data)).metadata
    return found
