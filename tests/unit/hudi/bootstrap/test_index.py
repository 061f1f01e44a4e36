"""The bootstrap index: order, content, and what Apache Hudi read from it."""

from __future__ import annotations

import io
import itertools
import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, PlanError
from framework.hudi.bootstrap.index import (
    BootstrapIndex,
    FileMapping,
    IndexGroup,
    IndexWriter,
    fileids_key,
    part_starts,
    partition_key,
    write_index_part,
)
from framework.hudi.bootstrap.index_values import (
    encode_file_values,
    encode_partition,
)
from framework.hudi.codecs.avro import read_container, write_container
from framework.hudi.codecs.hfile import HFileWriter
from framework.hudi.codecs.hfile_reader import HFileReader
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import BOOTSTRAP_FILEIDS_INDEX, BOOTSTRAP_PARTITIONS_INDEX
from tests.support.bootstrap_index import (
    BASE_URI,
    CREATED_MS,
    a_group,
    golden_groups,
    tame_groups,
    write_index,
)
from tests.support.codec_vectors import RELEASES, codec_vectors, unpacked

names = itertools.count()
partitions = st.lists(
    st.text(alphabet="p=1/-0;_é😀\ue000", max_size=6), unique=True, min_size=1, max_size=8
)


def _bytes(*parts: list[IndexGroup]) -> tuple[bytes, bytes]:
    """Return both files of an index of these parts."""
    outs = io.BytesIO(), io.BytesIO()
    write_index(*outs, *parts)
    return outs[0].getvalue(), outs[1].getvalue()


def _by_path(group: IndexGroup) -> bytes:
    return partition_key(group.partition_path)


def _parts_of(groups: list[IndexGroup]) -> list[list[IndexGroup]]:
    """Return the groups in as many parts as there may be."""
    parts: list[list[IndexGroup]] = []
    found = sorted(groups, key=_by_path)
    for group, (_, starts) in zip(
        found, part_starts(each.partition_path for each in found), strict=True
    ):
        if starts:
            parts.append([])
        parts[-1].append(group)
    return parts


def _stored(partitions_file: bytes | None, fileids_file: bytes | None) -> MemoryStorage:
    """Return a storage of its own with the given files of an index in their places."""
    storage = MemoryStorage(f"index-{next(names)}")
    files = {BOOTSTRAP_PARTITIONS_INDEX: partitions_file, BOOTSTRAP_FILEIDS_INDEX: fileids_file}
    for path, data in files.items():
        if data is not None:
            with storage.create(path) as out:
                out.write(data)
    return storage


def _opened(*parts: list[IndexGroup]) -> BootstrapIndex:
    index = BootstrapIndex.open(_stored(*_bytes(*parts)))
    assert index is not None
    return index


def _by_id(group: IndexGroup) -> dict[str, FileMapping]:
    return {file.file_id: file for file in group.files}


def _hfile(pairs: dict[bytes, bytes], **info: bytes) -> bytes:
    out = io.BytesIO()
    writer = HFileWriter(out)
    for key, value in sorted(pairs.items()):
        writer.append(key, value)
    writer.finish({name.encode(): value for name, value in info.items()})
    return out.getvalue()


def test_index_written_and_opened_gives_the_same_mappings() -> None:
    """Partitions and files come back by partition and by file id, and absent ones do not."""
    with _opened(golden_groups()) as index:
        assert index.base_uri == BASE_URI
        assert list(index.partitions()) == sorted(
            (g.partition_path for g in golden_groups()), key=str.encode
        )
        for group in golden_groups():
            assert index.mappings(group.partition_path) == _by_id(group)
            for file in group.files:
                assert index.mapping(group.partition_path, file.file_id) == file
        assert index.mappings("p=2") == {}
        assert index.mapping("p=1", str(uuid.UUID(int=0))) is None
        assert index.mapping("p=1", "") is None


@pytest.mark.property
@given(partitions)
def test_index_of_any_partitions_is_in_strict_byte_order_and_comes_back(paths: list[str]) -> None:
    """Prefixes, signs around `;` and characters above U+FFFF: whole keys ascend in both files."""
    groups = [a_group(path) for path in paths]
    for data in _bytes(groups):
        keys = [key for key, _ in HFileReader(io.BytesIO(data)).scan()]
        assert keys == sorted(set(keys))
    with _opened(groups) as index:
        for group in groups:
            assert index.mappings(group.partition_path) == _by_id(group)
            for file in group.files:
                assert index.mapping(group.partition_path, file.file_id) == file


def test_index_orders_of_prefixed_partitions_differ_between_the_files() -> None:
    """`p=10` comes after `p=1` by partition and before it by file id."""
    paths = ["p=1", "p=10", "p=1-2", "p=1/x"]
    assert sorted(paths, key=partition_key) == ["p=1", "p=1-2", "p=1/x", "p=10"]
    assert sorted(paths, key=fileids_key) == ["p=1-2", "p=1/x", "p=10", "p=1"]


def test_index_info_is_in_both_files_with_the_number_of_keys() -> None:
    """Hudi reads it from the partitions file; each file counts its own keys."""
    readers = [HFileReader(io.BytesIO(d)) for d in _bytes([a_group("a", 3), a_group("b", 4)])]
    infos = [read_container(reader.file_info[b"INDEX_INFO"]) for reader in readers]
    assert [info["numKeys"] for info in infos] == [2, 7]
    assert {info["bootstrapBasePath"] for info in infos} == {BASE_URI}
    assert {info["createdTimestamp"] for info in infos} == {CREATED_MS}


@pytest.mark.parametrize("release", RELEASES)
def test_index_written_now_is_the_one_that_hudi_judged(release: str) -> None:
    """Entry for entry, what we write is what that release read and answered from."""
    ours: dict[str, Any] = codec_vectors(release)["ours"]
    for half, data in zip(("partitions", "fileids"), _bytes(golden_groups()), strict=True):
        now, judged = HFileReader(io.BytesIO(data)), HFileReader(io.BytesIO(unpacked(ours[half])))
        assert list(now.scan()) == list(judged.scan())
        assert now.file_info == judged.file_info


@pytest.mark.parametrize("release", RELEASES)
def test_hudis_answers_from_our_index_are_the_mappings_that_we_wrote(release: str) -> None:
    """Partitions, file groups, base and mappings, each as Hudi's own reader returned it."""
    ours: dict[str, Any] = codec_vectors(release)["ours"]
    by_partition = {group.partition_path: group for group in golden_groups()}
    assert ours["present"] is True
    assert ours["base"] == BASE_URI
    paths = list(by_partition)
    assert ours["partition_paths"] == sorted(paths, key=partition_key)
    assert ours["file_groups"] == [
        [path, file_id]
        for path in sorted(paths, key=fileids_key)
        for file_id in sorted(_by_id(by_partition[path]))
    ]
    for path, found in ours["mappings"].items():
        assert found == sorted(_facts(file) for file in by_partition[path].files)
    for path, found in ours["single"].items():
        assert found == sorted(_facts(file) for file in by_partition[path].files[:3])


def _facts(file: FileMapping) -> list[Any]:
    return [file.file_id, file.uri, file.size, file.mtime_ms]


@pytest.mark.parametrize("release", RELEASES)
def test_index_that_hudi_wrote_can_be_opened(release: str) -> None:
    """An index of HBase's writer (0.15.0) and of the native one (1.2.0) answers as ours does."""
    theirs: dict[str, Any] = codec_vectors(release)["theirs"]
    storage = _stored(unpacked(theirs["partitions"]), unpacked(theirs["fileids"]))
    index = BootstrapIndex.open(storage)
    assert index is not None
    with index:
        assert index.base_uri == BASE_URI
        assert list(index.partitions()) == theirs["partition_paths"]
        for group in tame_groups():
            assert index.mappings(group.partition_path) == _by_id(group)
            assert index.mapping(group.partition_path, group.files[0].file_id) == group.files[0]


def test_index_of_a_table_without_one_is_none() -> None:
    """No file, no index."""
    assert BootstrapIndex.open(_stored(None, None)) is None


@pytest.mark.parametrize("missing", [0, 1])
def test_index_with_one_file_missing_is_refused(missing: int) -> None:
    """Hudi would take it for no index and return nulls without a word."""
    files: list[bytes | None] = list(_bytes([a_group("p")]))
    files[missing] = None
    with pytest.raises(CorruptFileError) as caught:
        BootstrapIndex.open(_stored(*files))
    assert caught.value.condition == "bootstrap-index/half"
    assert ".hfile" in str(caught.value.where.file)


def test_index_with_parts_out_of_order_or_groups_twice_is_refused() -> None:
    """A wrong order would make Hudi's readers return nulls."""
    files = [*a_group("p").files, *a_group("p").files]
    twice = IndexGroup(partition_path="p", source_partition="p", files=files)
    for parts in (
        [[a_group("b")], [a_group("a")]],
        [[a_group("a"), a_group("a")]],
        [[a_group("a")], [a_group("a")]],
        [[a_group("p=1")], [a_group("p=10")]],
        [[twice]],
    ):
        with pytest.raises(CorruptFileError) as caught:
            _bytes(*parts)
        assert caught.value.condition == "hfile/key-order"


@pytest.mark.property
@given(partitions)
def test_index_in_parts_has_the_entries_of_one_part_in_their_order(names: list[str]) -> None:
    """For any partition paths, as many parts as `part_starts` allows."""
    groups = [a_group(name) for name in names]
    for one, many in zip(_bytes(groups), _bytes(*_parts_of(groups)), strict=True):
        first, second = (HFileReader(io.BytesIO(each), file="x") for each in (one, many))
        assert list(first.scan()) == list(second.scan())
        assert first.file_info == second.file_info


def test_index_in_parts_is_looked_up_as_one_part() -> None:
    """Blocks of later parts are found, whose headers name the block before."""
    groups = golden_groups()
    parts = _parts_of(groups)
    assert len(parts) > 1
    with _opened(*parts) as index:
        for group in groups:
            assert index.mappings(group.partition_path) == _by_id(group)


def test_index_part_that_is_truncated_is_refused() -> None:
    """The blocks of a part end with its file."""
    blocks = io.BytesIO(), io.BytesIO()
    part = write_index_part(*blocks, [a_group("a")])
    streams = [io.BytesIO(each.getvalue()[:-1]) for each in blocks]
    with pytest.raises(CorruptFileError) as caught:
        IndexWriter(io.BytesIO(), io.BytesIO()).add(part, *streams)
    assert caught.value.condition == "hfile/part-truncated"


def test_index_of_a_partition_that_reads_like_a_key_is_refused() -> None:
    """`;fileid=` inside a partition path would mix the keys of two partitions."""
    with pytest.raises(PlanError) as caught:
        _bytes([a_group("p;fileid=1")])
    assert caught.value.condition == "bootstrap/partition-name"
    assert caught.value.where.partition == "p;fileid=1"


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        (b"", "avro/corrupt"),
        (next(encode_file_values(a_group("p"))), "bootstrap-index/corrupt"),
        (
            encode_partition(
                IndexGroup(
                    partition_path="p",
                    source_partition="p",
                    files=[FileMapping(file_id="f", uri="u", size=-1, mtime_ms=0)],
                )
            ),
            "bootstrap-index/corrupt",
        ),
    ],
    ids=["empty", "another record", "negative size"],
)
def test_index_with_a_wrong_value_is_refused_with_its_partition(
    value: bytes, condition: str
) -> None:
    """The error names file and partition."""
    good, fileids = _bytes([a_group("p")])
    info = HFileReader(io.BytesIO(good)).file_info[b"INDEX_INFO"]
    index = BootstrapIndex.open(_stored(_hfile({b"part=p": value}, INDEX_INFO=info), fileids))
    assert index is not None
    with index, pytest.raises(CorruptFileError) as caught:
        index.mappings("p")
    assert caught.value.condition == condition
    assert caught.value.where.partition == "p"
    assert "hfile" in str(caught.value.where.file)


@pytest.mark.parametrize("key", [b"other", b"part=\xff"])
def test_index_with_a_key_of_another_kind_is_refused(key: bytes) -> None:
    """A key that names no partition is not skipped."""
    good, fileids = _bytes([a_group("p")])
    info = HFileReader(io.BytesIO(good)).file_info[b"INDEX_INFO"]
    index = BootstrapIndex.open(_stored(_hfile({key: b""}, INDEX_INFO=info), fileids))
    assert index is not None
    with index, pytest.raises(CorruptFileError) as caught:
        list(index.partitions())
    assert caught.value.condition == "bootstrap-index/corrupt"


def test_index_without_a_base_is_refused() -> None:
    """Missing, or without a base: Hudi cannot open it either."""
    _, fileids = _bytes([a_group("p")])
    schema = {"type": "record", "name": "R", "fields": [{"name": "numKeys", "type": "int"}]}
    no_base = write_container(schema, json.loads('{"numKeys": 1}'))
    for info, condition in (
        ({}, "avro/corrupt"),
        ({"INDEX_INFO": no_base}, "bootstrap-index/corrupt"),
    ):
        with pytest.raises(CorruptFileError) as caught:
            BootstrapIndex.open(_stored(_hfile({}, **info), fileids))
        assert caught.value.condition == condition


class CountedInput(io.BytesIO):
    """Bytes that count how often and how much is read of them."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads, self.bytes = 0, 0

    def read(self, size: int | None = -1, /) -> bytes:
        """As `BytesIO` does."""
        data = super().read(size)
        self.reads, self.bytes = self.reads + 1, self.bytes + len(data)
        return data


@pytest.mark.parametrize("half", [0, 1], ids=["partitions", "fileids"])
def test_index_look_up_of_one_key_reads_one_block(half: int) -> None:
    """One seek and one read, however many partitions there are; none for a key before the first."""
    groups = [a_group(f"p={n:03}", files=200) for n in range(50)]
    source = CountedInput(_bytes(groups)[half])
    reader = HFileReader(source, file="x")
    whole = len(source.getvalue())
    last = groups[-1]
    keys = (partition_key(last.partition_path), fileids_key("p=049", last.files[0].file_id))
    source.reads, source.bytes = 0, 0
    assert reader.get(keys[half]) is not None
    assert source.reads == 1
    assert source.bytes < whole / 20
    assert reader.get(b"") is None
    assert source.reads == 1
