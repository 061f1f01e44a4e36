"""Archive files of ours hold what Apache Hudi's hold for the same instants."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fastavro.schema import to_parsing_canonical_form

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.log_format import HeaderKey, read_blocks, read_content
from framework.hudi.codecs.log_records import decode_records
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.archive import (
    InstantFile,
    archive_bytes,
    archive_entries,
    newest_first,
    next_archive_file,
)
from framework.hudi.timeline.archive_schema import ENTRY
from framework.hudi.timeline.clock import instant_at
from framework.hudi.timeline.instant import Action, Instant, InstantState

ARCHIVES = Path(__file__).parents[3] / "golden" / "archived_services"
KINDS = ("copy_on_write", "merge_on_read")
STATES = tuple(InstantState)

OF_AN_EMPTY_FILE: dict[str, object] = {
    "partitionToWriteStats": {},
    "extraMetadata": {},
    "version": None,
    "operationType": "UNKNOWN",
}

Key = tuple[str, str, str]
Records = dict[Key, dict[str, Any]]


def blocks(data: bytes) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield schema and records of each block of an archive file."""
    source = pa.BufferReader(data)
    for block in read_blocks(source):
        schema = block.header[HeaderKey.SCHEMA]
        yield schema, list(decode_records(read_content(source, block), schema))


def keyed(data: bytes) -> Records:
    """Return the records of an archive file by time, action and state."""
    records = (each for _, found in blocks(data) for each in found)
    return {(e["commitTime"], e["actionType"], e["actionState"]): e for e in records}


def unpacked(name: str, folder: Path) -> Path:
    """Return the folder with the content of a golden archive, files with their times."""
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def files_of(folder: Path) -> Iterator[list[InstantFile]]:
    """Yield the files of each instant that was archived or may be, in the order of states."""
    found = []
    for path in folder.iterdir():
        instant = Instant.parse(path.name)
        if instant is not None:
            changed = instant_at(path.stat().st_mtime_ns // 1_000_000)
            data = path.read_bytes()
            found.append(InstantFile(instant=instant, data=data, changed=changed, where=Where()))
    found.sort(key=lambda e: (e.instant.requested_time, STATES.index(e.instant.state)))
    for _, files in groupby(found, key=lambda each: each.instant.requested_time):
        yield list(files)


def made_by_hudi(folder: Path) -> Records:
    """Return all records of a golden archive."""
    return {k: r for p in (folder / "after").iterdir() for k, r in keyed(p.read_bytes()).items()}


def made_by_us(folder: Path) -> Records:
    """Return our records of the instants of a golden archive."""
    entries = [e for files in files_of(folder / "before") for e in archive_entries(files)]
    return keyed(archive_bytes(entries))


@pytest.mark.parametrize("kind", KINDS)
def test_records_equal_those_of_apache_hudi(kind: str, tmp_path: Path) -> None:
    """Commits, cleans, rollbacks, replacecommits and compactions of 1.2.0, ours among them."""
    folder = unpacked(f"{kind}-1.2.0", tmp_path)
    theirs, ours = made_by_hudi(folder), made_by_us(folder)
    both = theirs.keys() & ours.keys()
    assert {action for _, action, _ in both} >= {"clean", "commit", "rollback", "replacecommit"}
    assert len(both) > 40
    assert {key: ours[key] for key in both} == {key: theirs[key] for key in both}


@pytest.mark.parametrize("kind", KINDS)
def test_records_hold_what_an_older_release_archives(kind: str, tmp_path: Path) -> None:
    """0.15.0 has fewer fields, adds an empty `ROLLING_STAT`, and makes objects of empty files."""
    folder = unpacked(f"{kind}-0.15.0", tmp_path)
    theirs, ours = made_by_hudi(folder), made_by_us(folder)
    both = theirs.keys() & ours.keys()
    assert len(both) > 40
    for key in both:
        assert not list(missing(plain(theirs[key]), ours[key])), key


def plain(value: Any) -> Any:
    """Return a value without what only 0.15.0 writes."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: plain(each) for name, each in value.items() if name != "ROLLING_STAT"}
    return None if found == OF_AN_EMPTY_FILE else found


def missing(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Yield the places of values that we do not have, or have otherwise."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name, value in theirs.items():
            yield from missing(value, ours.get(name), f"{path}/{name}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for one, other in zip(theirs, ours, strict=True):
            yield from missing(one, other, path)
    elif theirs != ours:
        yield f"{path}: {theirs} and {ours}"


def test_schema_is_that_of_apache_hudi(tmp_path: Path) -> None:
    """All fields and types, in their order; so are the schemas in the headers of blocks."""
    folder = unpacked("copy_on_write-1.2.0", tmp_path)
    (schema, _), *_ = blocks((folder / "after" / ".commits_.archive.1_1-0-1").read_bytes())
    assert to_parsing_canonical_form(ENTRY) == to_parsing_canonical_form(json.loads(schema))
    ((ours, _),) = blocks(archive_bytes([{"commitTime": "1"}]))
    assert json.loads(ours) == ENTRY


def test_blocks_hold_ten_records_each() -> None:
    """Apache Hudi reads block by block."""
    entries = [{"commitTime": str(number)} for number in range(23)]
    assert [len(found) for _, found in blocks(archive_bytes(entries))] == [10, 10, 3]


def test_next_file_has_the_next_number_in_the_folder_that_the_table_names() -> None:
    """Numbers are compared as numbers, over all folders that may hold archives."""
    storage, named = MemoryStorage("t"), {"hoodie.archivelog.folder": "old"}
    assert next_archive_file(storage, {}) == ".hoodie/archived/.commits_.archive.1_1-0-1"
    for name in ("archived/.commits_.archive.9_1-0-1", "old/.commits_.archive.10_1-0-1"):
        with storage.create(f".hoodie/{name}") as out:
            out.write(b"")
    assert next_archive_file(storage, named) == ".hoodie/old/.commits_.archive.11_1-0-1"
    assert [path[-8:] for path in newest_first(storage, named)] == [
        ".10_1-0-1"[1:],
        "e.9_1-0-1"[1:],
    ]


def a_file(action: Action, state: InstantState, data: bytes) -> InstantFile:
    """Return a file of one instant."""
    instant = Instant(requested_time="20260101000000000", action=action, state=state)
    return InstantFile(instant=instant, data=data, changed="2", where=Where(file="f"))


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (b"{", "timeline/corrupt-commit"),
        (b'{"partitionToWriteStats": 3}', "timeline/corrupt-commit"),
        (b'{"partitionToWriteStats": {"p": [{"path": 3}]}}', "timeline/not-archivable"),
        (b'{"partitionToWriteStats": {"p": [{"numWrites": "x"}]}}', "timeline/not-archivable"),
    ],
)
def test_commit_that_cannot_be_read_is_refused(data: bytes, condition: str) -> None:
    """Nothing is archived without its content."""
    with pytest.raises(CorruptFileError) as refused:
        archive_bytes(
            archive_entries([a_file(Action.COMMIT, InstantState.COMPLETED, data)]),
            where=Where(table="t"),
        )
    assert refused.value.condition == condition


def test_damaged_plan_is_refused() -> None:
    """An Avro file that is none."""
    with pytest.raises(CorruptFileError) as refused:
        archive_entries([a_file(Action.CLEAN, InstantState.REQUESTED, b"Obj\x01")])
    assert refused.value.condition == "avro/corrupt"
