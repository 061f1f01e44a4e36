"""Records of groups and slices round-trip, and damage is reported."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.filegroup.group import (
    FileGroup,
    PlainRecord,
    base_order,
    decode_group,
    decode_slice,
    encode_group,
    encode_plain,
    encode_slice,
    log_order,
    slice_instant,
)
from framework.hudi.filegroup.slices import (
    BaseFile,
    BaseFileName,
    FileGroupId,
    FileSlice,
    LogFile,
    LogFileName,
    SourceFile,
)
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, join

SIZES = st.integers(0, 2**40)
INSTANTS = st.sampled_from([BOOTSTRAP_INSTANT, "1", "20261101000000001", "20261101000000002"])
TOKENS = st.sampled_from(["0-1-1", "12-345-6789"])
GROUPS = st.builds(FileGroupId, st.sampled_from(["", "p=1", "ä=1/b=2"]), st.sampled_from("agé"))
SOURCES = st.builds(
    SourceFile,
    st.sampled_from(["file:/lake/a.parquet", "file:/lake/a\tb\nsl", "s3://ä/%20"]),
    SIZES,
    st.integers(-1, 2**50),
)


@st.composite
def groups(draw: st.DrawFn) -> FileGroup:
    """A group of up to three base and three log files; with any, there may be a source."""
    id_ = draw(GROUPS)
    made = draw(st.lists(st.tuples(TOKENS, INSTANTS), max_size=3, unique=True))
    names = [BaseFileName(file_id=id_.file_id, write_token=t, instant=i) for t, i in made]
    bases = [BaseFile(each, join(id_.partition_path, str(each)), draw(SIZES)) for each in names]
    added = draw(st.lists(st.tuples(INSTANTS, st.integers(1, 9)), max_size=3, unique=True))
    more = [LogFileName(file_id=id_.file_id, base_instant=i, version=v) for i, v in added]
    logs = [LogFile(each, join(id_.partition_path, str(each)), draw(SIZES)) for each in more]
    return FileGroup(
        group=id_,
        bases=tuple(sorted(bases, key=base_order, reverse=True)),
        logs=tuple(sorted(logs, key=log_order)),
        source=draw(st.none() | SOURCES) if names or more else None,
    )


@st.composite
def slices(draw: st.DrawFn) -> FileSlice:
    """A slice of such a group; its source is there with a skeleton alone."""
    group = draw(groups())
    base = group.bases[0] if group.bases else None
    is_skeleton = base is not None and base.name.instant == BOOTSTRAP_INSTANT
    own = INSTANTS if base is None else st.just(base.name.instant) | INSTANTS
    source = group.source if is_skeleton else None
    return FileSlice(group.group, draw(own), base, group.logs, source)


@pytest.mark.property
@settings(deadline=None)
@given(groups())
def test_group_encoded_decodes_to_the_same(group: FileGroup) -> None:
    """So a view that keeps records keeps groups."""
    assert decode_group(group.group, encode_group(group)) == group


@pytest.mark.property
@settings(deadline=None)
@given(slices())
def test_slice_encoded_decodes_to_the_same(found: FileSlice) -> None:
    """So a slice that travels arrives."""
    assert decode_slice(found.group, encode_slice(found)) == found


@pytest.mark.property
@settings(deadline=None)
@given(groups())
def test_record_of_a_single_slice_has_its_instant(group: FileGroup) -> None:
    """And where it does not, the slice has another record, or there are several."""
    text = encode_group(group).decode()
    found = slice_instant(text)
    base = group.bases[0] if len(group.bases) == 1 and not group.logs else None
    is_skeleton = base is not None and base.name.instant == BOOTSTRAP_INSTANT
    if base is None or (group.source and not is_skeleton):
        assert found is None
    else:
        only = FileSlice(group.group, base.name.instant, base, (), group.source)
        assert (found, text) == (base.name.instant, encode_slice(only))


@pytest.mark.property
@settings(deadline=None)
@given(groups())
def test_plain_record_has_the_parts_of_the_one_base_file(group: FileGroup) -> None:
    """Any other record is none; the short way to make one gives the same."""
    text = encode_group(group).decode()
    plain = PlainRecord.parse(text)
    if len(group.bases) != 1 or group.logs:
        assert plain is None
        return
    (base,) = group.bases
    rest = str(base.name).removeprefix(group.group.file_id)
    assert encode_plain(rest, base.size, group.source).decode() == text
    assert plain is not None
    assert (plain.rest, plain.instant, int(plain.size)) == (rest, base.name.instant, base.size)
    assert (plain.write_token, plain.extension) == (base.name.write_token, base.name.extension)
    source = (plain.source_uri, plain.source_size, plain.source_mtime_ms)
    assert source == (tuple(map(str, group.source)) if group.source else ("", "", ""))


@pytest.mark.property
@settings(deadline=None)
@given(slices(), st.data())
def test_damaged_record_is_reported_or_decodes(found: FileSlice, data: st.DataObject) -> None:
    """Nothing but the one error is raised, however it is damaged."""
    text = encode_slice(found)
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, len(text)))
    text = (
        text[:at] + data.draw(st.sampled_from(["", "\n", "\t", "s", "b", "9" * 5000])) + text[end:]
    )
    with suppress(CorruptFileError):
        decode_slice(found.group, text)
    with suppress(CorruptFileError):
        decode_group(found.group, text.encode())
    slice_instant(text)
    PlainRecord.parse(text)


@pytest.mark.parametrize("record", ["", "b", "x", "b_0-1-1_1.parquet", "b_0-1-1_1.txt\t1", "l\t"])
def test_record_without_a_file_is_corrupt(record: str) -> None:
    """With the group that it was kept for."""
    group = FileGroupId("p=1", "g")
    if record:
        with pytest.raises(CorruptFileError, match="view/corrupt-record"):
            decode_slice(group, record)
    else:
        assert decode_slice(group, record) == FileSlice(group, "")


def test_slice_without_a_file_id_is_corrupt() -> None:
    """Such a name would not be read back."""
    with pytest.raises(CorruptFileError, match="view/corrupt-record"):
        decode_slice(FileGroupId("p=1", "a_b"), "b_0-1-1_1.parquet\t1")
