"""Markers: what Apache Hudi's rollback goes by, and what leads us to our own log files."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.commit.links import link_files
from framework.hudi.commit.markers import MarkerType, marker_type, read_markers, write_markers
from framework.hudi.commit.transaction import begin
from framework.hudi.storage.memory import MemoryStorage
from tests.support.loads import LOAD_TIME, a_load, a_log, group_of, stage_load
from tests.support.storage_suite import read
from tests.support.transactions import a_transaction, bootstrap

PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1)


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


@pytest.mark.parametrize(
    ("name", "previous", "expected"),
    [
        ("f_0-0-0_2.parquet", None, MarkerType.CREATE),
        ("f_0-0-0_2.parquet", "1", MarkerType.MERGE),
        (".f_1.log.1_0-0-0", "1", MarkerType.APPEND),
        (".f_2.log.1_0-0-0", None, MarkerType.APPEND),
    ],
)
def test_marker_type_follows_from_name_and_slice_before(
    name: str, previous: str | None, expected: MarkerType
) -> None:
    """A log file is appended to, also where it begins its group."""
    assert marker_type(name, previous) is expected


def test_markers_of_a_load_say_what_each_file_is_to_its_group(storage: MemoryStorage) -> None:
    """Apache Hudi deletes new base files, and takes back what log files hold."""
    bootstrap(a_transaction(storage))
    transaction = a_transaction(storage, a_load())
    begin(transaction)
    link_files(transaction, stage_load(storage, transaction.intent))
    lines = read(storage, f".hoodie/.temp/{LOAD_TIME}/MARKERS0").decode().splitlines()
    assert lines == [
        f"p=1/{group_of(0)}_0-1-1_{LOAD_TIME}.parquet.marker.MERGE",
        f"p=1/{a_log(group_of(1))}.marker.APPEND",
        f"p=10/new_0-1-1_{LOAD_TIME}.parquet.marker.CREATE",
        f"p=3/{a_log('logs-only', LOAD_TIME)}.marker.APPEND",
    ]


@pytest.mark.property
@settings(deadline=None)
@given(st.lists(st.tuples(PATHS, st.sampled_from(MarkerType)), max_size=5))
def test_markers_that_are_written_are_read_back(markers: list[tuple[str, MarkerType]]) -> None:
    """Whatever the type, and whatever else a path ends with."""
    storage = MemoryStorage(uuid4().hex)
    transaction = a_transaction(storage)
    begin(transaction)
    write_markers(storage, transaction.intent.staging, "1", markers)
    found = list(read_markers(storage, "1"))
    storage.forget()
    assert found == [path for path, _ in markers]


def test_write_markers_of_a_path_with_a_line_break_is_refused(storage: MemoryStorage) -> None:
    """Apache Hudi reads one marker per line."""
    transaction = a_transaction(storage)
    begin(transaction)
    marker = ("a\nb/f.parquet", MarkerType.CREATE)
    with pytest.raises(CorruptFileError) as caught:
        write_markers(storage, transaction.intent.staging, "1", [marker])
    assert caught.value.condition == "commit/line-break-in-path"
