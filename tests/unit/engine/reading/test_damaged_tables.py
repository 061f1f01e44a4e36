"""Files of completed commits that are deleted, cut or replaced: every reader names them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from framework.engine.inspect.status import table_status
from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED, latest_slices
from framework.errors import CorruptFileError, FrameworkError, RetryableError
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.recorded import RecordedFiles
from framework.vocabulary import TableType, WriteOperation
from tests.golden.tables.opening import golden_names, open_golden
from tests.support.scenes import a_document, a_scene, adopt
from tests.support.sources import ids
from tests.support.timeline_metadata import Cleaned, clean_bytes
from tests.support.writing import Lake, load, rows_of


def delete(path: Path) -> None:
    """Remove a file."""
    path.unlink()


def empty(path: Path) -> None:
    """Leave a file without a byte."""
    path.write_bytes(b"")


def cut(path: Path) -> None:
    """Leave out the last byte."""
    path.write_bytes(path.read_bytes()[:-1])


def cut_in_half(path: Path) -> None:
    """Leave the first half."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


DAMAGES = (delete, empty, cut, cut_in_half)


def copied(name: str, folder: Path) -> Path:
    """Return a copy of a golden table."""
    return Path(shutil.copytree(open_golden(name).location, folder / "table"))


def our_table(kind: TableType, folder: Path) -> Path:
    """Return a table of ours with two loads, the second of which changed rows of the first."""
    lake = Lake(folder=folder, type=kind, ordering="n")
    first = [{"id": f"k{n}", "day": f"d{n % 2}", "n": 1} for n in range(20)]
    load(lake, WriteOperation.UPSERT, first)
    load(lake, WriteOperation.UPSERT, [{**each, "n": 2} for each in first[:5]])
    return Path(lake.location)


def adopted_table(folder: Path) -> Path:
    """Return a bootstrapped table with a partition of each mode."""
    rules = [{"partition": "p=2", "mode": "full_record"}]
    scene = a_scene(folder, {"p=1/a": ids(1, 2), "p=2/a": ids(3)}, a_document(rules=rules))
    adopt(scene)
    return scene.location


OURS: dict[str, Callable[[Path], Path]] = {
    "ours-copy-on-write": partial(our_table, TableType.COPY_ON_WRITE),
    "ours-merge-on-read": partial(our_table, TableType.MERGE_ON_READ),
    "ours-adopted": adopted_table,
}
TABLES = {name: partial(copied, name) for name in golden_names()} | OURS


def used_files(location: Path) -> list[str]:
    """Return the base and log files of the latest slices, relative to the table."""
    table = open_table(str(location))
    found = []
    for each in latest_slices(table, LISTED, None):
        found += [each.base.path] if each.base else []
        found += [log.path for log in each.logs]
    assert found
    return found


def refused(location: Path) -> CorruptFileError:
    """Return the error of reading a table; it names a file of the table."""
    with pytest.raises(CorruptFileError) as caught:
        rows_of(str(location))
    return caught.value


@pytest.mark.parametrize("name", TABLES)
def test_tables_without_damage_are_read_and_all_is_well(name: str, tmp_path: Path) -> None:
    """Of Apache Hudi and of ours: no false alarm, and each log file has its recorded extents."""
    location = TABLES[name](tmp_path)
    assert rows_of(str(location))
    conditions = {each.condition for each in table_status(str(location)).dangers}
    assert not {each for each in conditions if each.startswith("table/file")}
    for each in latest_slices(open_table(str(location)), LISTED, None):
        for log in each.logs:
            assert [(extent.start, extent.end) for extent in log.committed] == [(0, log.size)]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", TABLES)
def test_file_of_a_completed_commit_that_is_damaged_is_named(
    name: str, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    """Each base, skeleton and log file of the latest slices, one after the other."""
    location = TABLES[name](tmp_path)
    for path in used_files(location):
        kept = (location / path).read_bytes()
        damage(location / path)
        error = refused(location)
        assert error.condition in {"table/file-lost", "table/file-size"}
        assert error.where.file == f"{location}/{path}"
        assert error.where.instant
        (danger,) = (
            each
            for each in table_status(str(location)).dangers
            if each.condition == error.condition
        )
        assert path in danger.message
        (location / path).write_bytes(kept)
    assert rows_of(str(location))


@pytest.mark.parametrize("name", TABLES)
def test_partition_without_its_metadata_is_named(name: str, tmp_path: Path) -> None:
    """It would be no partition, and all its rows would be lost."""
    location = TABLES[name](tmp_path)
    for path in sorted(location.rglob(".hoodie_partition_metadata")):
        kept = path.read_bytes()
        path.unlink()
        error = refused(location)
        assert (error.condition, error.where.file) == ("table/partition-lost", str(path))
        dangers = [each.condition for each in table_status(str(location)).dangers]
        assert dangers.count("table/partition-lost") == 1
        path.write_bytes(kept)
    assert rows_of(str(location))


@pytest.mark.parametrize("name", TABLES)
def test_partition_that_is_deleted_is_named(name: str, tmp_path: Path) -> None:
    """A listing knows nothing of it."""
    location = TABLES[name](tmp_path)
    path = next(location.rglob(".hoodie_partition_metadata"))
    shutil.rmtree(path.parent)
    error = refused(location)
    assert (error.condition, error.where.file) == ("table/partition-lost", str(path))


def test_partition_without_its_metadata_is_named_though_its_commits_are_archived(
    tmp_path: Path,
) -> None:
    """Its files have instants before the active timeline, which are completed."""
    location = our_table(TableType.COPY_ON_WRITE, tmp_path)
    first = load_timeline(LocalStorage(str(location))).completed[0]
    for file in (location / ".hoodie").glob(f"{first.requested_time}*"):
        file.unlink()
    assert rows_of(str(location))
    path = location / "day=d1" / ".hoodie_partition_metadata"
    path.unlink()
    error = refused(location)
    assert (error.condition, error.where.file) == ("table/partition-lost", str(path))


def test_file_that_no_commit_names_is_refused(tmp_path: Path) -> None:
    """With the instant of a completed commit in its name it would be read."""
    location = our_table(TableType.COPY_ON_WRITE, tmp_path)
    path = location / used_files(location)[0]
    stray = path.with_name(path.name.replace(path.name.split("_")[0], "stray"))
    shutil.copy(path, stray)
    error = refused(location)
    assert (error.condition, error.where.file) == ("table/file-not-recorded", str(stray))


def test_load_into_a_damaged_table_is_refused_and_publishes_nothing(tmp_path: Path) -> None:
    """An upsert would write the older version of each record again."""
    location = our_table(TableType.COPY_ON_WRITE, tmp_path)
    (location / used_files(location)[0]).unlink()
    before = load_timeline(LocalStorage(str(location))).completed
    lake = Lake(folder=tmp_path, type=TableType.COPY_ON_WRITE, ordering="n")
    for operation in (WriteOperation.UPSERT, WriteOperation.INSERT_OVERWRITE):
        with pytest.raises(FrameworkError) as caught:
            load(lake, operation, [{"id": "k0", "day": "d0", "n": 3}])
        assert caught.value.condition == "table/file-lost"
    assert load_timeline(LocalStorage(str(location))).completed == before


def serve_clean(location: Path, time: str, partition: str, deleted: list[str]) -> None:
    """Complete a clean that deleted files."""
    data = clean_bytes(time, {partition: Cleaned(deleted=deleted)})
    (location / ".hoodie" / f"{time}.{Action.CLEAN.value}").write_bytes(data)


def test_file_that_a_clean_removed_meanwhile_asks_to_read_again(tmp_path: Path) -> None:
    """The reader's timeline is older than the clean: nothing is damaged."""
    location = our_table(TableType.COPY_ON_WRITE, tmp_path)
    table = open_table(str(location))
    path = used_files(location)[0]
    (location / path).unlink()
    folder, _, name = path.rpartition("/")
    serve_clean(location, "20990101000000000", folder, [name])
    with pytest.raises(RetryableError) as caught:
        list(latest_slices(table, LISTED, None))
    assert caught.value.condition == "read/files-removed"


def test_file_that_an_earlier_clean_removed_is_no_damage(tmp_path: Path) -> None:
    """A commit under a savepoint may name files that an archived commit replaced."""
    location = our_table(TableType.COPY_ON_WRITE, tmp_path)
    path = used_files(location)[0]
    (location / path).unlink()
    folder, _, name = path.rpartition("/")
    serve_clean(location, "20990101000000000", folder, [name])
    storage = LocalStorage(str(location))
    timeline = load_timeline(storage)
    recorded = RecordedFiles(storage, timeline)
    slices = ListingView(storage, timeline).latest_slices(folder)
    assert [each.path for each in recorded.damages(folder, slices)] == [path]
    assert recorded.without_removed(recorded.damages(folder, slices)) == []


@pytest.fixture
def logged(tmp_path: Path) -> tuple[Path, Path]:
    """Return a table, and a log file of its latest slices."""
    location = our_table(TableType.MERGE_ON_READ, tmp_path)
    (path,) = {each for each in used_files(location) if ".log." in each and "day=d0" in each}
    return location, location / path


@pytest.mark.parametrize("place", range(0, 51, 5))
def test_log_block_of_a_completed_commit_that_is_damaged_is_named(
    logged: tuple[Path, Path], place: int
) -> None:
    """Magic, lengths, format, kind, and the instant: what says that the block counts."""
    location, path = logged
    data = bytearray(path.read_bytes())
    data[place] ^= 0x55
    path.write_bytes(bytes(data))
    with pytest.raises(FrameworkError) as caught:
        rows_of(str(location))
    assert caught.value.condition.startswith("log/")
    assert caught.value.where.file == str(path)


def test_torn_block_behind_a_completed_one_is_ignored(logged: tuple[Path, Path]) -> None:
    """Its writer died, and nothing says that it completed."""
    location, path = logged
    before = rows_of(str(location))
    data = path.read_bytes()
    path.write_bytes(data + data[: len(data) // 2])
    assert rows_of(str(location)) == before
