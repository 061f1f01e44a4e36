"""A table's memory outlives the commits that made it, and goes back with those that are undone."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.engine.reading import table_memory
from framework.engine.reading.table_memory import HashSet, read_memory, text_hash
from framework.errors import CorruptFileError, UnsupportedTableError
from framework.hudi.commit.intent import Intent
from framework.hudi.commit.staging import new_write_id
from framework.hudi.commit.state_files import STATE, STATE_KEY, StateRef
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from tests.support.scenes import a_scene, adopt
from tests.support.sources import ids
from tests.support.writing import run_spec

ARCHIVES = Path(__file__).parents[3] / "golden" / "archives"


def an_intent(number: int) -> Intent:
    """Return the intent of one of many loads."""
    return Intent(
        write_id=new_write_id(),
        requested_time=f"2026{number:013}",
        action=Action.COMMIT,
        operation="INSERT",
        is_new_table=False,
        facts={},
    )


def a_storage(intents: list[Intent]) -> MemoryStorage:
    """Return an empty table on which these runs have begun."""
    storage = MemoryStorage("states")
    for each in intents:
        with storage.create(each.staging.begin) as out:
            out.write(each.begin_bytes())
    return storage


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=40), min_size=1, max_size=12))
def test_hash_set_holds_what_was_added_and_nothing_else(batches: list[list[int]]) -> None:
    """However the hashes came, inline or in segments that were merged."""
    intents = [an_intent(number) for number in range(len(batches))]
    storage, found = a_storage(intents), HashSet()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table_memory, "_MOST_INLINE", 8)
        for intent, batch in zip(intents, batches, strict=True):
            found = found.with_added(storage, intent, "loaded", batch)
    added = {each for batch in batches for each in batch}
    asked = sorted(added | {each ^ 1 for each in added} | {0})
    answers = found.holds(storage, np.array(asked, np.uint64))
    assert [bool(each) for each in answers] == [each in added for each in asked]
    assert [each.size for each in found.segments] == sorted(
        (each.size for each in found.segments), reverse=True
    )


def test_hash_set_after_a_thousand_loads_has_few_segments() -> None:
    """A load reads and writes as much after a thousand others as after ten."""
    storage, found = MemoryStorage("states"), HashSet()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table_memory, "_MOST_INLINE", 4)
        for number in range(1000):
            intent = an_intent(number)
            with storage.create(intent.staging.begin) as out:
                out.write(b"{}")
            found = found.with_added(storage, intent, "loaded", [text_hash(str(number))])
    assert len(found.segments) <= 6
    wanted = np.array([text_hash(str(each)) for each in range(1100)], np.uint64)
    assert int(found.holds(storage, wanted).sum()) == 1000


@pytest.mark.parametrize(
    "name", sorted(path.name.removesuffix(".tar.xz") for path in ARCHIVES.glob("*.tar.xz"))
)
def test_memory_of_a_table_is_found_by_an_archive_of_apache_hudi(name: str, tmp_path: Path) -> None:
    """No active commit is ours; the archive names the state file of the newest."""
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    storage = LocalStorage(str(tmp_path))
    memory = read_memory(storage, load_timeline(storage))
    assert memory is not None
    assert memory.facts is not None
    assert memory.facts.skipped == ("day=d3",)
    assert memory.has_run(storage, "monday")
    assert not memory.has_run(storage, "tuesday")
    assert read_memory(storage, load_timeline(storage), only_with_folder=True) == memory
    shutil.rmtree(tmp_path / STATE)
    assert read_memory(storage, load_timeline(storage), only_with_folder=True) is None
    with pytest.raises(CorruptFileError) as lost:
        read_memory(storage, load_timeline(storage))
    assert lost.value.condition == "state/lost"


def a_loaded_table(folder: Path) -> tuple[dict[str, object], Path]:
    """Return the spec of a table that began with a load of one file, and its location."""
    (folder / "landing").mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), folder / "landing" / "one.parquet")
    spec: dict[str, object] = {
        "version": 1,
        "table": {
            "name": "shop.orders",
            "location": str(folder / "table"),
            "type": "copy_on_write",
            "record_key": {"columns": ["id"], "unique_within": "table"},
        },
        "source": {"path": str(folder / "landing")},
        "write": {"operation": "insert"},
    }
    assert run_spec(spec, folder).instant is not None
    return spec, folder / "table"


def test_memory_goes_back_with_a_commit_that_is_undone(tmp_path: Path) -> None:
    """Files of an undone load are new again, and are loaded again."""
    spec, location = a_loaded_table(tmp_path)
    pq.write_table(pa.table({"id": [3]}), tmp_path / "landing" / "two.parquet")
    second = run_spec(spec, tmp_path).instant
    assert second is not None
    assert run_spec(spec, tmp_path).instant is None
    for file in (location / ".hoodie").glob(f"{second}*"):
        file.unlink()
    for file in location.glob(f"*{second}*"):
        file.unlink()
    assert run_spec(spec, tmp_path).instant is not None
    assert run_spec(spec, tmp_path).instant is None


@pytest.mark.parametrize(
    ("damage", "condition"),
    [("delete", "state/lost"), ("cut", "state/damaged"), ("flip", "state/damaged")],
)
def test_load_beside_a_damaged_state_file_is_refused(
    damage: str, condition: str, tmp_path: Path
) -> None:
    """Nothing is loaded by guess."""
    spec, location = a_loaded_table(tmp_path)
    (file,) = (location / STATE).iterdir()
    data = file.read_bytes()
    if damage == "delete":
        file.unlink()
    else:
        file.write_bytes(data[:-1] if damage == "cut" else data[:-2] + b"\x00" + data[-1:])
    with pytest.raises(CorruptFileError) as refused:
        run_spec(spec, tmp_path)
    assert refused.value.condition == condition
    assert str(location) in str(refused.value)


def test_state_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    """It may remember what this release does not know."""
    spec, location = a_loaded_table(tmp_path)
    (file,) = (location / STATE).iterdir()
    data = json.dumps(json.loads(file.read_text()) | {"version": 9}).encode()
    file.write_bytes(data)
    (commit,) = (location / ".hoodie").glob("*.commit")
    document = json.loads(commit.read_text())
    old = json.loads(document["extraMetadata"][STATE_KEY])
    ref = StateRef(path=old["path"], size=len(data), crc32c=google_crc32c.value(data))
    document["extraMetadata"][STATE_KEY] = ref.as_json()
    del document["extraMetadata"]["lakestrap.checksum"]
    commit.write_text(json.dumps(document))
    with pytest.raises(UnsupportedTableError) as refused:
        run_spec(spec, tmp_path)
    assert refused.value.condition == "state/newer-version"


def test_rolled_back_run_leaves_no_state_file(tmp_path: Path) -> None:
    """A state file that no commit names goes with the run that made it."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2)})
    adopt(scene)
    states = sorted(path.name for path in (scene.location / STATE).iterdir())
    assert len(states) == 1
    assert states[0].startswith("00000000000001-")
