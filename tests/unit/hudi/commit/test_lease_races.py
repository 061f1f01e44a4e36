"""What others do in the gaps between looking and acting: a run that ends, or one that is faster."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from framework.errors import LeaseHeldError, StorageError
from framework.hudi.commit.lease import Owner, acquire, current_lease
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Move
from framework.hudi.table.layout import HOODIE, LAKESTRAP
from framework.hudi.timeline.clock import ManualClock
from tests.support.storage_suite import put
from tests.support.transactions import WRITE_ID, an_intent, dead_owner

OTHER = "b" * 32


class Meddled(LocalStorage):
    """A folder in which something happens just before a number of moves and opens."""

    def __init__(self, root: Path, act: Callable[[], object], times: int = 1) -> None:
        super().__init__(str(root))
        self._act = act
        self.left = times

    def move(self, moves: Sequence[Move]) -> None:
        """Move, after the event."""
        self._meddle()
        super().move(moves)

    def open_input(self, path: str) -> Any:
        """Open, after the event."""
        self._meddle()
        return super().open_input(path)

    def _meddle(self) -> None:
        if self.left:
            self.left -= 1
            self._act()


def test_acquire_while_an_ending_run_takes_the_folders_away_tries_again(tmp_path: Path) -> None:
    """A run that releases its lease removes empty folders, also those of a starting run."""
    storage = Meddled(tmp_path, lambda: shutil.rmtree(tmp_path / HOODIE), times=3)
    lease = acquire(storage, Owner.here(WRITE_ID), ManualClock())
    assert not storage.left
    assert current_lease(storage) == lease


def test_acquire_in_folders_that_never_stay_gives_up_and_leaves_nothing(tmp_path: Path) -> None:
    """It does not try for ever."""
    storage = Meddled(tmp_path, lambda: shutil.rmtree(tmp_path / HOODIE), times=10_000)
    with pytest.raises(StorageError) as caught:
        acquire(storage, Owner.here(WRITE_ID), ManualClock())
    assert caught.value.condition == "storage/not-found"
    assert list(tmp_path.rglob("*")) == []


def test_acquire_with_a_number_that_has_been_passed_is_refused(tmp_path: Path) -> None:
    """Another one has taken the lease and renewed it, since the numbers were looked at."""
    clock = ManualClock()
    quiet = LocalStorage(str(tmp_path))

    def pass_by() -> None:
        """Take the lease, and leave of it only a later number."""
        held = acquire(quiet, dead_owner(OTHER), clock)
        lease = tmp_path / held.path
        lease.rename(lease.with_name("00000007.json"))

    with pytest.raises(LeaseHeldError) as caught:
        acquire(Meddled(tmp_path, pass_by), Owner.here(WRITE_ID), clock)
    assert caught.value.condition == "commit/lease-held"
    found = current_lease(quiet)
    assert found is not None
    assert found.owner.write_id == OTHER
    assert not (tmp_path / Staging(write_id=WRITE_ID).root).exists()


def test_find_pending_while_a_run_cleans_up_looks_again(tmp_path: Path) -> None:
    """Its folder is listed, and deleted before it is opened."""
    staging = an_intent().staging
    storage = Meddled(tmp_path, lambda: shutil.rmtree(tmp_path / staging.root))
    put(storage, staging.begin, an_intent().begin_bytes())
    assert find_pending(storage) is None
    assert not storage.left


def test_find_pending_of_what_is_never_there_raises(tmp_path: Path) -> None:
    """A dangling link is listed, but cannot be opened however often one looks."""
    staging = an_intent().staging
    folder = tmp_path / staging.root
    folder.mkdir(parents=True)
    (tmp_path / staging.begin).symlink_to(tmp_path / "nowhere")
    with pytest.raises(StorageError) as caught:
        find_pending(LocalStorage(str(tmp_path)))
    assert caught.value.condition == "storage/not-found"
    (tmp_path / staging.begin).unlink()
    pending = find_pending(LocalStorage(str(tmp_path)))
    assert pending is not None
    assert pending.kind is PendingKind.ORPHANS
    assert (tmp_path / LAKESTRAP).exists()
