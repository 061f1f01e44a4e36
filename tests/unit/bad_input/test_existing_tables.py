"""Targets with an existing table: foreign, ours but changed, or damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from framework.errors import (
    CommitConflictError,
    CorruptFileError,
    FrameworkError,
    LeaseHeldError,
    PlanError,
    UnsupportedTableError,
)
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.clock import SystemClock
from tests.golden.tables.opening import open_golden
from tests.support.meddling import WRITING, Meddling
from tests.support.scenes import Scene, a_scene, adopt, plan, refusal, with_spec
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

pytestmark = pytest.mark.long

FILES = {"p=1/a.parquet": ids(1, 2), "p=2/b.parquet": ids(3)}
PROPERTIES = ".hoodie/hoodie.properties"
COMMIT = ".hoodie/00000000000001.commit"
INDEX = ".hoodie/.aux/.bootstrap"


@pytest.fixture
def adopted(tmp_path: Path) -> Scene:
    """Return a scene whose table is made."""
    scene = a_scene(tmp_path, FILES)
    adopt(scene)
    return scene


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
@pytest.mark.parametrize("kind", ["bootstrapped", "written"])
def test_table_of_apache_hudi_is_refused(tmp_path: Path, kind: str, release: str) -> None:
    """A table that we did not begin is not ours to begin again."""
    scene = a_scene(tmp_path, FILES)
    golden = open_golden(f"{kind}-copy-on-write-{release}")
    shutil.copytree(golden.location, scene.location)
    error = refusal(scene, "target/not-adopted").error
    assert isinstance(error, PlanError)
    assert error.exit_code == 1
    assert error.where.line


def test_table_of_version_9_is_refused(adopted: Scene) -> None:
    """Apache Hudi upgrades on its own; while skeletons are left it then loses rows."""
    _edit(adopted, {"hoodie.table.version": "9", "hoodie.timeline.layout.version": "2"})
    error = refusal(adopted, "table/version").error
    assert isinstance(error, UnsupportedTableError)
    assert error.exit_code == 5
    assert error.where.table == str(adopted.location)
    assert "version 9" in error.message


@pytest.mark.parametrize("version", ["5", "8"])
def test_table_of_any_other_version_is_refused(adopted: Scene, version: str) -> None:
    """Only version 6 is written."""
    _edit(adopted, {"hoodie.table.version": version})
    assert refusal(adopted, "table/version").error.exit_code == 5


def test_table_with_a_metadata_folder_is_refused(adopted: Scene) -> None:
    """A commit that does not update the metadata table is invisible to Hudi's readers."""
    (adopted.location / ".hoodie" / "metadata").mkdir()
    error = refusal(adopted, "table/metadata-table").error
    assert isinstance(error, UnsupportedTableError)
    assert error.exit_code == 5
    assert "hoodie.metadata.enable=false" in error.remedy


def test_table_whose_properties_name_a_metadata_table_is_refused(adopted: Scene) -> None:
    """The properties alone make readers look for it."""
    _edit(adopted, {"hoodie.table.metadata.partitions": "files"})
    assert refusal(adopted, "table/metadata-table").error.exit_code == 5


def test_metadata_folder_where_no_table_is_yet_is_refused(tmp_path: Path) -> None:
    """Another writer is creating a table here."""
    scene = a_scene(tmp_path, FILES)
    (scene.location / ".hoodie" / "metadata").mkdir(parents=True)
    assert refusal(scene, "table/metadata-table").error.exit_code == 5


@pytest.mark.parametrize(
    "name", ["20240101000000000.commit.requested", "20240101000000000.inflight"]
)
def test_foreign_instant_under_way_is_refused(tmp_path: Path, name: str) -> None:
    """Another writer is at work, or died; it is not ours to roll back."""
    scene = a_scene(tmp_path, FILES)
    (scene.location / ".hoodie").mkdir(parents=True)
    (scene.location / ".hoodie" / name).write_text("")
    error = refusal(scene, "table/foreign-pending").error
    assert isinstance(error, CommitConflictError)
    assert error.exit_code == 4
    assert error.where.instant == name


def test_foreign_instant_on_an_adopted_table_is_reported_and_kept(adopted: Scene) -> None:
    """Where nothing is to be written it is a warning."""
    (adopted.location / ".hoodie" / "20240101000000000.inflight").write_text("")
    notes = {note.condition for note in plan(adopted).plan.notes}
    assert "table/foreign-pending" in notes
    assert adopt(adopted) is None


def test_foreign_commit_without_properties_is_refused(tmp_path: Path) -> None:
    """Half a table of another writer is no place for ours."""
    scene = a_scene(tmp_path, FILES)
    (scene.location / ".hoodie").mkdir(parents=True)
    text = json.dumps({"partitionToWriteStats": {}, "extraMetadata": {}})
    (scene.location / ".hoodie" / "20240101000000000.commit").write_text(text)
    assert refusal(scene, "target/not-adopted").error.exit_code == 1


def test_lease_of_a_live_process_is_respected(tmp_path: Path) -> None:
    """A run of ours is at work, though it has begun nothing yet."""
    scene = a_scene(tmp_path, FILES)
    storage = open_storage(str(scene.location))
    acquire(storage, Owner.here("f" * 32), SystemClock())
    error = refusal(scene, "lease/held").error
    assert isinstance(error, LeaseHeldError)
    assert error.exit_code == 4
    assert str(os.getpid()) in error.message


def test_lease_alone_is_respected_too(tmp_path: Path) -> None:
    """Also if nothing else indicates a run."""
    scene = a_scene(tmp_path, FILES)
    acquire(open_storage(str(scene.location)), Owner.here("f" * 32), SystemClock())
    shutil.rmtree(scene.location / ".hoodie" / ".lakestrap" / ("f" * 32))
    assert refusal(scene, "commit/lease-held").error.exit_code == 4


@pytest.mark.parametrize("garbage", [b"", b"{", b"\xff\xfe", b"[]", b'{"number": 1}'])
def test_lease_that_cannot_be_read_is_respected(tmp_path: Path, garbage: bytes) -> None:
    """Its holder is unknown, so the run does not continue."""
    scene = a_scene(tmp_path, FILES)
    lease = acquire(open_storage(str(scene.location)), Owner.here("f" * 32), SystemClock())
    (scene.location / lease.path).write_bytes(garbage)
    assert refusal(scene, "lease/held").error.exit_code == 4


def test_second_run_beside_a_live_one_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    """The run that came first ends well, whatever the second one tried."""
    scene = a_scene(tmp_path, FILES)
    refused: list[FrameworkError] = []

    def second() -> None:
        with pytest.raises(LeaseHeldError) as caught:
            adopt(scene)
        refused.append(caught.value)

    tasks = Meddling(after=WRITING, act=second)
    adopt(scene, tasks=tasks)
    assert tasks.acted == 1
    assert [(each.condition, each.exit_code) for each in refused] == [("lease/held", 4)]
    assert len(read_table(scene, pieces_of(scene))) == 3


def _emptied(_: str) -> bytes:
    return b""


def _cut_in_the_key(text: str) -> bytes:
    return text[: text.index("hoodie.table.name") + 9].encode()


def _of_no_number(text: str) -> bytes:
    return text.replace("version=6", "version=six").encode()


def _of_no_type(text: str) -> bytes:
    return text.replace("COPY_ON_WRITE", "COPY_ON_READ").encode()


def _of_bytes(_: str) -> bytes:
    return b"\x00\xff" * 100


SPOILED: list[Callable[[str], bytes]] = [
    _emptied,
    _cut_in_the_key,
    _of_no_number,
    _of_no_type,
    _of_bytes,
]


@pytest.mark.parametrize("spoil", SPOILED)
def test_properties_that_cannot_be_understood_are_refused(
    adopted: Scene, spoil: Callable[[str], bytes]
) -> None:
    """A damaged table is neither taken for none nor made again."""
    path = adopted.location / PROPERTIES
    path.write_bytes(spoil(path.read_text()))
    with pytest.raises(FrameworkError) as caught:
        adopt(adopted)
    error = refusal(adopted, caught.value.condition).error
    assert isinstance(error, CorruptFileError | UnsupportedTableError)
    assert error.condition.startswith("properties/")
    assert error.exit_code == 5
    assert error.where.file == str(path)


@pytest.mark.parametrize("spoil", SPOILED[:2])
def test_valid_backup_replaces_damaged_properties(
    adopted: Scene, spoil: Callable[[str], bytes]
) -> None:
    """A writer may die while it replaces the file; Java reads the backup then."""
    path = adopted.location / PROPERTIES
    path.with_suffix(".properties.backup").write_bytes(path.read_bytes())
    path.write_bytes(spoil(path.read_text()))
    assert plan(adopted).plan.case.value == "up_to_date"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"extraMetadata": 1}', "\0" * 50])
def test_commit_that_cannot_be_read_is_refused(adopted: Scene, text: str) -> None:
    """A completed instant of wrong bytes is damage, never a table without rows."""
    (adopted.location / COMMIT).write_text(text)
    with pytest.raises(FrameworkError) as caught:
        adopt(adopted)
    error = refusal(adopted, caught.value.condition).error
    assert isinstance(error, CorruptFileError)
    assert error.exit_code == 5
    assert error.where.file == str(adopted.location / COMMIT)


@pytest.mark.parametrize("half", [".partitions", ".fileids"])
@pytest.mark.parametrize("gone", [True, False])
def test_index_that_is_half_there_or_spoiled_is_refused(
    adopted: Scene, half: str, *, gone: bool
) -> None:
    """Without it Hudi's readers would show nulls without a word."""
    (path,) = (adopted.location / INDEX / half).iterdir()
    if gone:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FrameworkError) as caught:
        adopt(adopted)
    error = refusal(adopted, caught.value.condition).error
    assert isinstance(error, CorruptFileError)
    assert error.exit_code == 5
    assert str(error.where.file) == str(path)


def _key(columns: list[str], scope: str = "table") -> dict[str, Any]:
    """Return the section of the record key."""
    return {"columns": columns, "unique_within": scope}


IMMUTABLE: list[tuple[str, str, Any]] = [
    ("table.record_key.columns", "table", {"record_key": _key(["id", "v"])}),
    ("table.record_key.unique_within", "table", {"record_key": _key(["id"], "partition")}),
    ("table.type", "table", {"type": "merge_on_read", "ordering": {"columns": ["id"]}}),
    ("table.partition_by", "table", {"partition_by": {"p": "string"}}),
    ("table.name", "table", {"name": "other.rows"}),
    ("bootstrap.mode", "bootstrap", {"mode": "full_record"}),
    ("bootstrap.rules", "bootstrap", {"rules": [{"partition": "p=1", "mode": "skip"}]}),
]


@pytest.mark.parametrize(("key_path", "section", "change"), IMMUTABLE)
def test_field_that_cannot_change_any_more_is_refused_with_both_values(
    adopted: Scene, key_path: str, section: str, change: dict[str, Any]
) -> None:
    """What the table began with stays; the refusal shows both values and its line."""
    document = {**adopted.document, section: {**adopted.document[section], **change}}
    scene = Scene(**{**vars(adopted), "document": document})
    refused = refusal(scene, "plan/immutable-field")
    found = refused.finding("plan/immutable-field")
    assert refused.error.exit_code == 1
    assert found.key_path == key_path
    assert "when the table was created" in found.message
    assert found.where.line


def test_source_that_moved_is_an_immutable_field_too(adopted: Scene, tmp_path: Path) -> None:
    """The skeletons point at the old place."""
    shutil.copytree(adopted.source, tmp_path / "elsewhere")
    scene = with_spec(adopted, path=str(tmp_path / "elsewhere"))
    refused = refusal(scene, "plan/immutable-field")
    assert [each.key_path for each in refused.findings] == ["bootstrap.path"]


def test_missing_properties_are_written_again_by_the_next_run(adopted: Scene) -> None:
    """The commit remembers them: a crash between the two leaves just this."""
    path = adopted.location / PROPERTIES
    before = path.read_bytes()
    path.unlink()
    assert plan(adopted).plan.case.value == "finish"
    adopt(adopted)
    assert path.read_bytes() == before
    assert len(read_table(adopted, pieces_of(adopted))) == 3


def test_leftover_partition_folder_at_the_target_is_refused(tmp_path: Path) -> None:
    """Files of an old table whose `.hoodie` was deleted would become ghost rows."""
    scene = a_scene(tmp_path, FILES)
    adopt(scene)
    shutil.rmtree(scene.location / ".hoodie")
    assert refusal(scene, "target/foreign-content").error.exit_code == 1


def test_leftover_partition_folder_beside_an_empty_timeline_is_refused(tmp_path: Path) -> None:
    """Likewise where the folder of the timeline is left, without a word in it."""
    scene = a_scene(tmp_path, FILES)
    adopt(scene)
    shutil.rmtree(scene.location / ".hoodie")
    (scene.location / ".hoodie").mkdir()
    assert refusal(scene, "target/foreign-content").error.exit_code == 1


def _edit(scene: Scene, changes: dict[str, str]) -> None:
    """Change entries of the table's properties, as another writer would."""
    path = scene.location / PROPERTIES
    lines = [
        line for line in path.read_text().splitlines() if line.partition("=")[0] not in changes
    ]
    path.write_text("\n".join([*lines, *(f"{k}={v}" for k, v in changes.items())]) + "\n")
