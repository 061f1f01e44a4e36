"""The file that makes a folder a partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.table.layout import PartitionMetadata


@pytest.mark.parametrize(("path", "depth"), [("", 0), ("p=1", 1), ("y=1/m=2/d=3", 3)])
def test_metadata_of_a_partition_counts_its_levels(path: str, depth: int) -> None:
    """An unpartitioned table has its file in the root, at depth 0."""
    assert PartitionMetadata.of(path, "00000000000001").depth == depth


def test_metadata_text_is_the_same_on_each_attempt() -> None:
    """No date in it: a retry must make the same bytes."""
    assert PartitionMetadata.of("p=1", "00000000000001").render() == (
        "#partition metadata\ncommitTime=00000000000001\npartitionDepth=1\n"
    )


def test_metadata_that_hudi_wrote_is_read() -> None:
    """With Java's comment of a date."""
    text = "#partition metadata\n#Sat Mar 07 16:24:37 CST 2026\ncommitTime=2026\npartitionDepth=1\n"
    found = PartitionMetadata.parse(text, "p/.hoodie_partition_metadata")
    assert found == PartitionMetadata(commit_time="2026", depth=1)


@pytest.mark.property
@given(st.from_regex("[0-9]{14,17}", fullmatch=True), st.integers(0, 99))
def test_metadata_comes_back_from_its_text(commit_time: str, depth: int) -> None:
    """Parsing undoes rendering."""
    metadata = PartitionMetadata(commit_time=commit_time, depth=depth)
    assert PartitionMetadata.parse(metadata.render(), "f") == metadata


@pytest.mark.parametrize("text", ["", "commitTime=1", "commitTime=1\npartitionDepth=x"])
def test_text_that_is_no_metadata_raises_corrupt_file_error(text: str) -> None:
    """The file is named."""
    with pytest.raises(CorruptFileError) as caught:
        PartitionMetadata.parse(text, "p/.hoodie_partition_metadata")
    assert caught.value.condition == "partition/bad-metadata"
    assert caught.value.where.file == "p/.hoodie_partition_metadata"
