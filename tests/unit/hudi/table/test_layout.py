"""Places inside a table."""

from __future__ import annotations

from framework.hudi.table.layout import (
    META_COLUMNS,
    PROPERTIES,
    crc_sidecar,
    join,
    name_of,
    parent_of,
)


def test_join_skips_the_root() -> None:
    """The root is the empty path."""
    assert join("", "a", "", "b/c") == "a/b/c"
    assert join("") == ""


def test_parent_and_name_take_a_path_apart() -> None:
    """A name below the root has the root as parent."""
    assert (parent_of("a/b/c"), name_of("a/b/c")) == ("a/b", "c")
    assert (parent_of("c"), name_of("c")) == ("", "c")


def test_crc_sidecar_is_beside_its_file() -> None:
    """Hidden, and named after it."""
    assert crc_sidecar(PROPERTIES) == ".hoodie/.hoodie.properties.crc"
    assert crc_sidecar("a.parquet") == ".a.parquet.crc"


def test_meta_columns_are_in_file_order() -> None:
    """As each base file begins."""
    assert META_COLUMNS == (
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
    )
