"""Archival: rows, memory and restores afterwards, and what a killed one leaves."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from framework.cli.options import JsonFormat
from framework.cli.retention import archive_command
from framework.engine.reading import table_memory
from framework.engine.reading.table_memory import read_memory
from framework.engine.services.archival import Archived, observe_archival, run_archival
from framework.engine.services.savepoint import create_savepoint, delete_savepoint
from framework.engine.services.undo import plan_restore, run_undo
from framework.errors import FrameworkError
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.pending import find_pending
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.archive import ArchivedInstant, archive_files, archived_instants
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, InstantState
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits, ArchivalPlan
from tests.support.orders import LATER_MS, Shop
from tests.support.writing import run_spec

pytestmark = pytest.mark.long

KINDS = ("copy_on_write", "merge_on_read")
LIMITS = ArchivalLimits(keep_min=5, keep_max=7)
STATES = tuple(InstantState)


def loaded(folder: Path, kind: str, loads: int, *, adopts: bool = False) -> Shop:
    """Return a shop after some loads, each with a new row and one that changes."""
    shop = Shop(folder, kind, adopts=adopts)
    if adopts:
        shop.run()
    for number in range(loads):
        lands(shop, number)
    return shop


def lands(shop: Shop, number: int) -> str:
    """Load one more file, whose name and rows come from a number."""
    return shop.lands(f"f{number}", (f"k{number}", "d1", number), ("a", "d2", number))


@pytest.fixture(params=[("copy_on_write", False), ("merge_on_read", True)])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return a table of nine commits."""
    kind, adopts = request.param
    return loaded(tmp_path, kind, 8 if adopts else 9, adopts=adopts)


def storage_of(shop: Shop) -> LocalStorage:
    """Return the storage of a shop's table."""
    return LocalStorage(str(shop.location))


def commits(shop: Shop) -> list[str]:
    """Return the times of the active commits."""
    done = load_timeline(storage_of(shop)).completed
    return [each.requested_time for each in done if each.action in DATA_ACTIONS]


def archive(shop: Shop, limits: ArchivalLimits = LIMITS) -> Archived:
    """Archive what is due."""
    done = run_archival(observe_archival(str(shop.location), limits))
    assert done is not None
    return done


def archived(shop: Shop) -> list[ArchivedInstant]:
    """Return the records of the archive."""
    storage = storage_of(shop)
    return list(archived_instants(storage, archive_files(storage, {})))


def states(shop: Shop) -> list[Path]:
    """Return the state files."""
    return sorted((shop.location / ".hoodie/.lakestrap/state").iterdir())


def refusal(attempt: Callable[[], object]) -> str:
    """Return the condition of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value.condition


def test_archival_keeps_rows_and_moves_old_commits(shop: Shop) -> None:
    """Each commit that goes has a record for each of its states, in their order."""
    rows, before = shop.rows(), commits(shop)
    done = archive(shop)
    assert (done.instants, done.commits) == (4, 4)
    assert shop.rows() == rows
    assert commits(shop) == before[4:]
    records = [(each.requested_time, each.state) for each in archived(shop)]
    assert records == [(time, state) for time in before[:4] for state in STATES]
    names = {path.name for path in (shop.location / ".hoodie").iterdir()}
    assert not [name for name in names for time in before[:4] if name.startswith(f"{time}.")]
    assert find_pending(storage_of(shop)) is None
    plan = observe_archival(str(shop.location), LIMITS)
    assert plan.is_empty
    assert run_archival(plan) is None


def test_loads_after_an_archival_remember_what_was_loaded_before(shop: Shop) -> None:
    """No file is loaded again, new ones are loaded, and the archive is not read for either."""
    archive(shop)
    (file,) = (shop.location / ".hoodie/archived").iterdir()
    file.write_bytes(b"#HUDI#, but damaged")
    assert run_spec(shop.document, shop.folder).instant is None
    rows = {key: value for key, _, value in shop.rows()}
    lands(shop, 50)
    assert {key: value for key, _, value in shop.rows()} == {**rows, "k50": 50, "a": 50}


def test_restore_to_the_oldest_active_commit_brings_its_rows_back(shop: Shop) -> None:
    """Files of undone loads are new again, older ones are not."""
    archive(shop)
    rows, oldest = shop.rows(), commits(shop)[0]
    run_undo(plan_restore(str(shop.location), oldest), Action.RESTORE)
    left = {key for key, _, _ in shop.rows()}
    undone = {key for key, _, _ in rows} - left
    assert len(undone) == 4
    assert shop.run()
    assert shop.rows() == rows
    with pytest.raises(FrameworkError) as refused:
        plan_restore(str(shop.location), archived(shop)[-1].requested_time)
    assert refused.value.condition == "restore/before-table"


@pytest.mark.parametrize("kind", KINDS)
def test_state_files_are_bounded_over_many_loads(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments of hashes that merged states still name stay, all others go."""
    monkeypatch.setattr(table_memory, "_MOST_INLINE", 4)
    shop = loaded(tmp_path, kind, 1)
    for number in range(1, 40):
        lands(shop, number)
        if number % 3 == 0:
            plan = observe_archival(str(shop.location), LIMITS)
            run_archival(plan)
    files = states(shop)
    assert len([path for path in files if path.name.endswith("-state.json")]) <= 9
    assert len(files) <= 9 + 20
    assert run_spec(shop.document, shop.folder).instant is None
    oldest = commits(shop)[0]
    run_undo(plan_restore(str(shop.location), oldest), Action.RESTORE)
    assert shop.run()
    assert len(shop.rows()) == 41


def test_state_of_the_newest_archived_commit_stays_for_a_restore(tmp_path: Path) -> None:
    """All active commits may be another writer's; then the archive names the state."""
    shop = loaded(tmp_path, "copy_on_write", 9)
    archive(shop)
    time = commits(shop)[0]
    memory = read_memory(storage_of(shop), load_timeline(storage_of(shop)))
    for path in (shop.location / ".hoodie").glob("*.commit"):
        text = json.loads(path.read_bytes())
        text["extraMetadata"] = {"schema": text["extraMetadata"]["schema"]}
        path.write_text(json.dumps(text))
    older = read_memory(storage_of(shop), load_timeline(storage_of(shop)))
    assert memory is not None
    assert older is not None
    assert older != memory
    assert not [path for path in states(shop) if path.name > time and "hashes" in path.name]


def recorded(shop: Shop) -> Counter[tuple[str, InstantState]]:
    """Return how often the archive has each instant in each state."""
    return Counter((each.requested_time, each.state) for each in archived(shop))


@pytest.mark.parametrize("kind", KINDS)
def test_archival_killed_at_any_step_is_finished_by_the_next(kind: str, tmp_path: Path) -> None:
    """Readers see the same rows at any moment, no run looks dead, nothing is archived twice."""
    shop = loaded(tmp_path, kind, 9)
    rows, before = shop.rows(), commits(shop)
    plan, deaths, step = observe_archival(str(shop.location), LIMITS), 0, 0
    outcomes = set()

    def attempt(storage: Storage) -> None:
        run_archival(
            replace(plan, location=storage.location), ManualClock(SystemClock().now_ms()), storage
        )

    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, attempt):
            break
        deaths += 1
        assert survivor.rows() == rows, step
        timeline = load_timeline(storage_of(survivor))
        assert timeline.pending == (), step
        assert commits(survivor) == before[len(before) - len(commits(survivor)) :], step
        outcomes.add(len(commits(survivor)))
        again = ManualClock(SystemClock().now_ms() + LATER_MS)
        run_archival(plan_of(survivor), again)
        survivor.recover()
        assert survivor.rows() == rows, step
        assert commits(survivor) == before[4:], step
        assert find_pending(storage_of(survivor)) is None
        assert set(recorded(survivor).values()) == {1}, step
        assert len(recorded(survivor)) == 4 * len(STATES), step
        assert len(states(survivor)) == 6, step
        shutil.rmtree(survivor.location)
    assert deaths > 20
    assert outcomes == {9, 8, 7, 6, 5}


def plan_of(shop: Shop) -> ArchivalPlan:
    """Return the plan as the next run makes it."""
    return observe_archival(str(shop.location), LIMITS)


def test_archival_continues_in_the_folder_that_the_table_names(tmp_path: Path) -> None:
    """Apache Hudi reads the archive there."""
    shop = loaded(tmp_path, "copy_on_write", 9)
    path = shop.location / ".hoodie/hoodie.properties"
    text = path.read_text().replace("folder=archived", "folder=old")
    path.write_text(text)
    archive(shop)
    (file,) = (shop.location / ".hoodie/old").iterdir()
    assert file.name == ".commits_.archive.1_1-0-1"
    assert not (shop.location / ".hoodie/archived").exists()


def test_savepoint_and_pending_instant_hold_commits(tmp_path: Path) -> None:
    """The plan says what does, and nothing beyond it goes."""
    shop = loaded(tmp_path, "copy_on_write", 9)
    third = commits(shop)[2]
    create_savepoint(str(shop.location), third)
    plan = plan_of(shop)
    assert plan.hold is not None
    assert (plan.hold.instant, plan.commits) == (third, 2)
    (shop.location / ".hoodie/20000101000000000.commit.requested").write_bytes(b"")
    assert plan_of(shop).commits == 0
    assert run_archival(plan_of(shop)) is None


def test_savepoints_of_all_active_commits_hide_no_archived_row(tmp_path: Path) -> None:
    """Nor does a restore to one of them."""
    shop = Shop(tmp_path, "copy_on_write")
    for number in range(4):
        shop.lands(f"f{number}", (f"k{number}", f"d{number}", number))
    before = shop.rows()
    shop.lands("f4", ("k4", "d4", 4))
    archive(shop, ArchivalLimits(keep_min=2, keep_max=3))
    held, newest = commits(shop)
    for each in (held, newest):
        create_savepoint(str(shop.location), each)
    assert len(shop.rows()) == 5
    delete_savepoint(str(shop.location), newest)
    run_undo(plan_restore(str(shop.location), held), Action.RESTORE)
    assert commits(shop) == [held]
    assert shop.rows() == before


def test_archival_of_damaged_commits_is_refused(tmp_path: Path) -> None:
    """Nothing is archived and nothing is deleted."""
    shop = loaded(tmp_path, "copy_on_write", 9)
    plan = plan_of(shop)
    path = shop.location / f".hoodie/{commits(shop)[1]}.inflight"
    path.write_bytes(b"{")
    before = shop.tree()
    assert refusal(lambda: run_archival(plan)) == "timeline/corrupt-commit"
    assert shop.tree() == before


def test_archival_is_refused_where_another_service_is(tmp_path: Path) -> None:
    """Not a table, a metadata table, another run at work."""
    shop = loaded(tmp_path, "copy_on_write", 9)
    plan = plan_of(shop)
    assert refusal(lambda: observe_archival(str(tmp_path))) == "service/not-a-table"
    acquire(storage_of(shop), Owner.here(new_write_id()), SystemClock())
    assert refusal(lambda: run_archival(plan)) == "commit/lease-held"
    (shop.location / ".hoodie/metadata").mkdir()
    assert refusal(lambda: plan_of(shop)) == "commit/metadata-table"


def test_markers_left_of_an_archived_commit_go_along(tmp_path: Path) -> None:
    """As with Apache Hudi; those of other instants stay."""
    shop = loaded(tmp_path, "copy_on_write", 9)
    kept = shop.location / ".hoodie/.temp/20000101000000000"
    for folder in (kept, kept.with_name(commits(shop)[0])):
        folder.mkdir(parents=True)
    archive(shop)
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_archive_command_prints_its_plan_and_its_outcome(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --dry-run nothing changes."""
    shop = loaded(tmp_path, "copy_on_write", 9)
    place, before = str(shop.location), shop.tree()
    assert archive_command(place, keep_min=5, keep_max=7, dry_run=True) == 0
    assert "9 active commits, 4 to archive, 3 unused state files to" in capsys.readouterr().out
    assert shop.tree() == before
    assert archive_command(place, keep_min=5, keep_max=7, form=JsonFormat.JSON) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["archived"], len(document["instants"])) == (4, 4)
    assert (document["held_by"], document["deleted_state_files"]) == (None, 3)
    assert archive_command(place) == 0
    assert "5 active commits, 0 to archive" in capsys.readouterr().out
    lands(shop, 50)
    assert archive_command(place, keep_min=2, keep_max=3) == 0
    assert "4 instants archived, 4 state files deleted" in capsys.readouterr().out
