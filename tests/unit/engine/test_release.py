"""Quarantined rows come in by a load of their own, once, and what fails again stays out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.quarantine.record import read_record
from framework.engine.reading.load_history import history
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.errors import (
    AfterCommitError,
    AuditFailedError,
    CommitConflictError,
    PlanError,
    SourceDriftError,
)
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.clock import SystemClock
from tests.support.quarantine import ArrowChecker, Shop, rows_in_quarantine

pytestmark = pytest.mark.long

KINDS = ("copy_on_write", "merge_on_read")
BAD = {1: 5, 2: None, 3: 1, 4: 9}


def a_shop(folder: Path, **changes: object) -> Shop:
    """Return a shop whose first load quarantines two of four rows."""
    shop = Shop(folder=folder, least=3, **changes)  # type: ignore[arg-type]  # its fields by name
    shop.land("a", BAD)
    assert shop.run().instant
    assert shop.rows() == {1: 5, 4: 9}
    return shop


def corrected(shop: Shop, least: int = 0) -> Shop:
    """Return the shop with another bound in its check."""
    return replace(shop, least=least)


@pytest.mark.parametrize("kind", KINDS)
def test_release_after_a_corrected_check_brings_in_what_passes(tmp_path: Path, kind: str) -> None:
    """Rows that still fail are quarantined again, with their original place."""
    shop = a_shop(tmp_path, kind=kind)
    (before,) = shop.waiting()
    assert before.by_rule == {"known": 1, "large": 2}
    done = corrected(shop).release()
    assert shop.rows() == {1: 5, 3: 1, 4: 9}
    (left,) = shop.waiting()
    assert (left.instant, left.rows) == (done.instant, 1)
    assert left.by_rule == {"known": 1, "large": 1}
    assert list(rows_in_quarantine([left])) == [(2, ("known", "large"), "a.parquet", 1)]
    assert shop.lying() == {f"instant={done.instant}"}


def test_release_of_a_table_that_only_a_bootstrap_began_inserts(tmp_path: Path) -> None:
    """The spec says nothing of writes, and has no ordering: no key of the table is touched."""
    shop = a_shop(tmp_path, operation="", ordering=False)
    (before,) = shop.waiting()
    assert (before.instant, before.operation) == ("00000000000001", "bootstrap")
    done = corrected(shop).release()
    assert shop.rows() == {1: 5, 3: 1, 4: 9}
    assert [each.operation for each in history(str(shop.table))] == ["BOOTSTRAP", "INSERT"]
    assert [each.instant for each in shop.waiting()] == [done.instant]
    assert corrected(shop).run().instant is None


def test_release_keeps_a_newer_version_by_the_ordering(tmp_path: Path) -> None:
    """A row that was loaded meanwhile with a greater value stays."""
    shop = a_shop(tmp_path)
    shop.land("b", {3: 50})
    shop.run()
    corrected(shop).release()
    assert shop.rows() == {1: 5, 3: 50, 4: 9}


def test_release_that_brings_a_taken_key_by_insert_is_refused(tmp_path: Path) -> None:
    """Nothing is published, and the rows wait as before."""
    shop = a_shop(tmp_path, operation="insert", ordering=False)
    shop.land("b", {3: 50})
    shop.run()
    before = shop.waiting()
    with pytest.raises(AuditFailedError) as caught:
        corrected(shop).release()
    assert caught.value.condition == "audit/taken-keys"
    assert shop.waiting() == before
    assert shop.lying() == {f"instant={before[0].instant}"}


def test_release_of_rows_that_all_fail_still_publishes_nothing(tmp_path: Path) -> None:
    """They stay where they are, as they are."""
    shop = a_shop(tmp_path)
    before = shop.waiting()
    with pytest.raises(AuditFailedError) as caught:
        shop.release()
    assert caught.value.condition == "quarantine/all-fail"
    assert len(history(str(shop.table))) == 1
    assert shop.waiting() == before
    assert shop.lying() == {f"instant={before[0].instant}"}


def test_release_is_not_bound_by_how_bad_a_source_may_be(tmp_path: Path) -> None:
    """Half of its rows fail again, where a tenth may."""
    shop = a_shop(tmp_path)
    replace(corrected(shop), is_bounded=True).release()
    assert shop.rows() == {1: 5, 3: 1, 4: 9}


@pytest.mark.parametrize("kind", KINDS)
def test_release_that_dies_before_it_tidies_publishes_once(tmp_path: Path, kind: str) -> None:
    """The data set counts no more; releasing or tidying again only removes what is left."""
    shop = a_shop(tmp_path, kind=kind)
    (before,) = shop.waiting()
    with ExitStack() as stack:
        late = corrected(shop).prepare(before, stack)
        done = corrected(shop).release(dies=True)
        names = {f"instant={before.instant}", f"instant={done.instant}"}
        assert shop.lying() == names
        assert [each.instant for each in shop.waiting()] == [done.instant]
        with pytest.raises(CommitConflictError) as caught:
            run(late.plan, InProcessTasks(1), checker=ArrowChecker())
        assert caught.value.condition == "load/published-meanwhile"
    with ExitStack() as stack:
        assert not corrected(shop).prepare(before, stack).plan.has_changes
    shop.finish()
    assert shop.lying() == {f"instant={done.instant}"}
    assert read_record(str(shop.table)).released == {before.instant: done.instant}
    assert shop.rows() == {1: 5, 3: 1, 4: 9}


def test_next_run_that_quarantines_rows_removes_what_was_released(tmp_path: Path) -> None:
    """No further release is needed."""
    shop = a_shop(tmp_path)
    (before,) = shop.waiting()
    corrected(shop).release(dies=True)
    shop.land("b", {7: None, 8: 8})
    shop.run()
    assert f"instant={before.instant}" not in shop.lying()
    assert len(shop.lying()) == 2


def test_release_during_a_run_that_holds_the_table_is_reported_as_done(tmp_path: Path) -> None:
    """The rows are published; only their data set is not removed yet."""
    shop = a_shop(tmp_path)
    corrected(shop).release(dies=True)
    acquire(open_storage(str(shop.table)), Owner.here(new_write_id()), SystemClock())
    with pytest.raises(AfterCommitError) as caught:
        shop.finish()
    assert caught.value.condition == "quarantine/not-removed"


def test_release_of_a_deleted_data_set_asks_to_run_again(tmp_path: Path) -> None:
    """It was dropped after the plan was made."""
    shop = a_shop(tmp_path)
    (before,) = shop.waiting()
    with ExitStack() as stack:
        late = corrected(shop).prepare(before, stack)
        for file in before.files:
            Path(file).unlink()
        with pytest.raises(SourceDriftError):
            run(late.plan, InProcessTasks(1), checker=ArrowChecker())
    assert len(history(str(shop.table))) == 1


def test_release_leaves_what_is_remembered_of_the_source(tmp_path: Path) -> None:
    """The next run finds nothing new, and then only what is new."""
    shop = a_shop(tmp_path)
    corrected(shop).release()
    assert shop.run().instant is None
    shop.land("b", {9: 9})
    account = shop.run().proof["account"]
    assert isinstance(account, dict)
    assert (account["input"], account["inserted"]) == (1, 1)
    assert shop.rows() == {1: 5, 3: 1, 4: 9, 9: 9}


def test_releases_come_from_several_places_oldest_first(tmp_path: Path) -> None:
    """A spec with a new quarantine location does not lose rows in the old one."""
    shop = a_shop(tmp_path)
    other = replace(shop, place=str(tmp_path / "elsewhere"))
    other.land("b", {5: None, 6: 1, 7: 7})
    other.run()
    assert [each.rows for each in other.waiting()] == [2, 2]
    assert [Path(each.location).name for each in shop.waiting()] == [
        "table.quarantine",
        "elsewhere",
    ]
    corrected(other).release()
    assert [Path(each.location).name for each in shop.waiting()] == ["elsewhere", "elsewhere"]
    assert not Path(f"{shop.table}.quarantine").exists()


def test_quarantined_rows_before_a_column_came_have_null_there(tmp_path: Path) -> None:
    """The table's schema may have grown since; rows that replace others need leave for it."""
    shop = a_shop(tmp_path, more={"schema_evolution": "add_columns"})
    table = pa.table({"id": [20], "n": [20], "v": ["w"], "extra": [1.5]})
    pq.write_table(table, tmp_path / "landing" / "b.parquet")
    shop.run()
    with pytest.raises(PlanError, match="'extra' is missing") as caught:
        corrected(shop).release()
    assert "write.missing_columns: set_null" in caught.value.remedy
    more = {"schema_evolution": "add_columns", "missing_columns": "set_null"}
    replace(corrected(shop), more=more).release()
    assert shop.rows() == {1: 5, 3: 1, 4: 9, 20: 20}


def test_rows_that_came_to_delete_others_delete_them(tmp_path: Path) -> None:
    """They do not get in, whatever the spec writes by then."""
    shop = a_shop(tmp_path)
    deleting = replace(shop, operation="delete", least=8, name="table")
    deleting.land("b", {1: 5, 4: 9})
    deleting.run()
    assert shop.rows() == {1: 5}
    _, last = shop.waiting()
    assert last.operation == "delete"
    corrected(shop).release()
    corrected(shop).release()
    assert shop.rows() == {3: 1}


def test_run_beside_rows_of_another_table_is_refused(tmp_path: Path) -> None:
    """Neither table's rows are touched, and nothing is left of the run."""
    shop = a_shop(tmp_path, place=str(tmp_path / "shared"))
    before = shop.waiting()
    other = replace(shop, name="other")
    with pytest.raises(PlanError) as caught:
        other.run()
    assert caught.value.condition == "quarantine/of-another-table"
    assert shop.waiting() == before
    assert shop.lying() == {f"instant={before[0].instant}"}
    assert not other.table.exists()


def test_run_that_is_refused_leaves_no_quarantined_rows(tmp_path: Path) -> None:
    """Neither under a name nor on the way there."""
    shop = Shop(folder=tmp_path, least=3, operation="insert", ordering=False)
    shop.land("a", {1: 5})
    shop.run()
    shop.land("b", {1: 6, 2: None})
    with pytest.raises(AuditFailedError) as caught:
        shop.run()
    assert caught.value.condition == "audit/taken-keys"
    assert shop.lying() == set()
