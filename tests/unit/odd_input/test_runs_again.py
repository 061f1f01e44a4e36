"""Runs that are done twice, done elsewhere, or cut off in the middle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.errors import CorruptFileError, PlanError
from framework.plan.build import Earlier
from tests.support.lakes import leftovers
from tests.support.meddling import FOOTERS, WRITING, Meddling
from tests.support.scenes import Scene, a_document, a_scene, adopt, plan, snapshot, with_spec
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

pytestmark = pytest.mark.long

BIG = 20_000
FILES = {f"p={p}/{name}.parquet": ids(p * 10 + n) for p in range(3) for n, name in enumerate("ab")}
SOME_BIG = FILES | {f"p=3/{n}.parquet": ids(*range(n * BIG, n * BIG + BIG)) for n in range(1, 5)}
FILES |= {"p=3/a.parquet": ids(30), "p=3/b.parquet": ids(31)}
RULES = [{"partition": "p=3", "mode": "full_record"}]
MODES = {"p=3": "full_record"}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a source of skeletons and full files."""
    return a_scene(tmp_path, FILES, a_document(rules=RULES))


def _stop() -> None:
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


def test_second_run_changes_nothing(scene: Scene) -> None:
    """Not a byte, not a time of change, not a folder."""
    adopt(scene)
    before = snapshot(scene.location)
    for _ in range(2):
        assert plan(scene).plan.case.value == "up_to_date"
        assert adopt(scene) is None
    assert snapshot(scene.location) == before


@pytest.mark.parametrize("parallelism", [1, 2, 7])
def test_two_tables_of_one_source_have_the_same_files_and_rows(
    scene: Scene, tmp_path: Path, parallelism: int
) -> None:
    """File ids, names, keys and sequence numbers follow from the source alone."""
    adopt(scene)
    other = with_spec(scene, location=str(tmp_path / "other"))
    adopt(other, tasks=InProcessTasks(parallelism))
    assert _data_files(other) == _data_files(scene)
    assert read_table(other, pieces_of(other, MODES)) == read_table(scene, pieces_of(scene, MODES))


def test_table_made_again_after_it_was_deleted_is_the_same(scene: Scene) -> None:
    """Undoing a bootstrap is deleting its folder; doing it again gives the same files."""
    adopt(scene)
    before = _data_files(scene)
    scene.location.rename(scene.folder / "undone")
    adopt(scene)
    assert _data_files(scene) == before


@pytest.mark.parametrize(("statuses", "journaled"), [(0, 0), (1, 6), (3, 8), (None, 6)])
def test_interrupted_run_keeps_its_files_and_resume_continues_with_them(
    tmp_path: Path, statuses: int | None, journaled: int
) -> None:
    """What the journal holds is not written again, and the rest is.

    Six skeletons are one task; each of the four full files is one of its own.
    """
    scene = a_scene(tmp_path, SOME_BIG, a_document(rules=RULES))
    assert _interrupted(scene, statuses).acted == 1
    staged = _staged(scene)
    assert len(staged) >= journaled
    assert not (scene.location / ".hoodie" / "hoodie.properties").exists()
    prepared = plan(scene, earlier=Earlier.RESUME)
    assert prepared.plan.case.value == "resume"
    watching = Watching()
    run(prepared.plan, watching)
    assert watching.files == 10 - journaled
    kept = {name for name, node in _placed(scene).items() if staged.get(name) == node}
    assert len(kept) == journaled
    assert len(read_table(scene, pieces_of(scene, MODES))) == 6 + 4 * BIG
    assert leftovers(scene.location) == []


def test_run_after_an_interrupted_one_resumes_by_itself(scene: Scene) -> None:
    """`run` does what `resume` does where spec and source are the same, and says so first."""
    _interrupted(scene, None)
    prepared = plan(scene)
    assert prepared.plan.case.value == "resume"
    assert getattr(prepared.plan.stages[0], "reason", "") == "spec and source are unchanged"
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene, MODES))) == 8


def test_fresh_run_after_an_interrupted_one_starts_anew(scene: Scene) -> None:
    """Nothing of the first run is left, and every file is another one."""
    _interrupted(scene, None)
    staged = _staged(scene)
    assert plan(scene, earlier=Earlier.FRESH).plan.case.value == "bootstrap"
    adopt(scene, earlier=Earlier.FRESH)
    assert not {n for name, n in _placed(scene).items() if staged.get(name) == n}
    assert len(read_table(scene, pieces_of(scene, MODES))) == 8
    assert leftovers(scene.location) == []


@pytest.mark.parametrize("folder", ["p=1", "deeper/p=1"])
def test_fresh_run_after_one_that_died_making_a_folder_starts_anew(
    scene: Scene, folder: str
) -> None:
    """A folder comes before the first file in it, and may be all that there is."""
    _interrupted(scene, None)
    (scene.location / folder).mkdir(parents=True)
    adopt(scene, earlier=Earlier.FRESH)
    assert len(read_table(scene, pieces_of(scene, MODES))) == 8
    assert not (scene.location / "deeper").exists()


def test_damaged_file_of_an_interrupted_run_is_written_again(scene: Scene) -> None:
    """A journal is a claim; sizes and checksums are looked at before it is believed."""
    _interrupted(scene, None)
    victim = next(p for p in scene.location.rglob("*.parquet") if p.is_file())
    victim.write_bytes(victim.read_bytes()[:-1] + b"\0")
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene, MODES))) == 8


@pytest.mark.parametrize(
    "name", ["journal/*.json", "inventory.arrow", "segments/*.arrow", "segments/*.spill"]
)
@pytest.mark.parametrize("damage", [b"", None, b"\0" * 40])
def test_damaged_record_of_an_interrupted_run_is_no_dead_end(
    scene: Scene, name: str, damage: bytes | None
) -> None:
    """The next run works without it, or reports that it cannot and rolls back."""
    _interrupted(scene, None)
    path = next((scene.location / ".hoodie" / ".lakestrap").glob(f"*/{name}"))
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with suppress(CorruptFileError):
        adopt(scene)
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene, MODES))) == 8


def test_damaged_journal_is_rolled_back_and_says_so(scene: Scene) -> None:
    """A run that cannot be read is not resumed."""
    _interrupted(scene, None)
    next((scene.location / ".hoodie" / ".lakestrap").glob("*/journal/*.json")).write_bytes(b"{")
    first = plan(scene).plan.stages[0]
    assert getattr(first, "reason", "") == "its journal is incomplete"
    _refused(scene, "resume/changed")


def test_changed_source_makes_the_next_run_roll_back_and_start_again(scene: Scene) -> None:
    """Files of the old source are not used in a table of the new one."""
    _interrupted(scene, None)
    (scene.source / "p=0" / "a.parquet").unlink()
    reasons = [getattr(stage, "reason", "") for stage in plan(scene).plan.stages]
    assert reasons[0] == "the source has changed since it started"
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene, MODES))) == 7


def test_resume_after_the_source_changed_is_refused(scene: Scene) -> None:
    """`resume` continues or reports why it cannot; the files are kept."""
    _interrupted(scene, None)
    before = snapshot(scene.location)
    (scene.source / "p=0" / "a.parquet").unlink()
    _refused(scene, "resume/changed")
    assert snapshot(scene.location) == before


def test_resume_where_nothing_was_cut_off_is_refused(scene: Scene) -> None:
    """Neither before the first run nor after a whole one."""
    _refused(scene, "resume/nothing-to-resume")
    assert snapshot(scene.location) == {}
    adopt(scene)
    _refused(scene, "resume/nothing-to-resume")


def test_changed_spec_makes_the_next_run_roll_back_and_start_again(scene: Scene) -> None:
    """Half a table of one spec is no beginning for another."""
    _interrupted(scene, None)
    document = a_document(mode="full_record")
    other = with_spec(
        Scene(**{**vars(scene), "document": document}),
        path=str(scene.source),
        location=str(scene.location),
    )
    result = adopt(other)
    assert result is not None
    assert result.instant is not None
    modes = dict.fromkeys((f"p={p}" for p in range(4)), "full_record")
    assert len(read_table(other, pieces_of(other, modes), instant=result.instant)) == 8


def test_interruption_while_planning_leaves_nothing(scene: Scene) -> None:
    """A plan has no right to leave a trace at the target."""
    with pytest.raises(KeyboardInterrupt):
        plan(scene, tasks=Meddling(after=FOOTERS, act=_stop))
    assert snapshot(scene.location) == {}


@pytest.mark.parametrize("earlier", [Earlier.AUTO, Earlier.FRESH])
def test_run_that_was_interrupted_twice_ends_well(scene: Scene, earlier: Earlier) -> None:
    """However often it is cut off, the next run finds its way."""
    _interrupted(scene, 0)
    with pytest.raises(KeyboardInterrupt):
        adopt(scene, tasks=Meddling(after=WRITING, act=_stop), earlier=earlier)
    adopt(scene, earlier=earlier)
    assert len(read_table(scene, pieces_of(scene, MODES))) == 8


class Watching:
    """Tasks that note how many files each writing task wrote."""

    parallelism = 4

    def __init__(self) -> None:
        self.files = 0

    def run(self, work: Any, descriptors: Any) -> Iterator[str]:
        """Yield the statuses, noting those of writing tasks."""
        for status in InProcessTasks(1).run(work, descriptors):
            if work.__name__ == WRITING:
                self.files += json.loads(status)["files"]
            yield status


def _interrupted(scene: Scene, statuses: int | None) -> Meddling:
    """Run until some statuses of writing tasks have come, then stop as Ctrl-C does."""
    tasks = Meddling(after=WRITING, act=_stop, statuses=statuses, parallelism=4)
    with pytest.raises(KeyboardInterrupt):
        adopt(scene, tasks=tasks)
    return tasks


def _refused(scene: Scene, condition: str) -> None:
    """`resume` is refused by the plan, as the author's mistake."""
    with pytest.raises(PlanError) as caught:
        plan(scene, earlier=Earlier.RESUME)
    assert (caught.value.condition, caught.value.exit_code) == (condition, 1)
    assert "run" in caught.value.remedy


def _staged(scene: Scene) -> dict[str, tuple[int, int]]:
    """Return the identities of staged base files by name."""
    found = (scene.location / ".hoodie" / ".lakestrap").rglob("*.parquet")
    return {path.name: _identity(path) for path in found}


def _placed(scene: Scene) -> dict[str, tuple[int, int]]:
    """Return the identities of the table's base files by name."""
    return {path.name: _identity(path) for path in scene.location.glob("p=*/*.parquet")}


def _identity(path: Path) -> tuple[int, int]:
    """Return what a file keeps when it is moved, and no other has: inodes are used again."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def _data_files(scene: Scene) -> dict[str, object]:
    """Return the bytes of the table's base files by path."""
    everything = snapshot(scene.location, times=False)
    return {path: data for path, data in everything.items() if path.endswith(".parquet")}
