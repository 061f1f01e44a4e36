"""Checks that tests of compaction, materialize and clustering share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from framework.errors import FrameworkError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.pending import find_pending
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.port import FileSystemView, Query, Selection
from framework.hudi.view.stores.port import MemoryStore
from tests.support.orders import Shop
from tests.support.writing import rows_of

__all__ = ["META", "check_view", "foreign_pending", "kept_view", "meta_of", "refusal", "survivors"]

META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key")


def meta_of(shop: Shop) -> list[tuple[str, ...]]:
    """Return the meta columns that a rewrite keeps, sorted."""
    return sorted(tuple(row[name] for name in META) for row in rows_of(str(shop.location)))


def refusal(attempt: Callable[[], object]) -> str:
    """Return the condition of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value.condition


def foreign_pending(shop: Shop) -> Path:
    """Make a pending instant of another writer, a moment after the newest one."""
    newest = load_timeline(LocalStorage(str(shop.location))).last_requested_time
    path = shop.location / ".hoodie" / f"{int(newest or 0) + 1}.commit.requested"
    path.write_bytes(b"")
    return path


def kept_view(shop: Shop) -> IncrementalView:
    """Return a view that has read the whole table and follows its timeline from now on."""
    view = IncrementalView(LocalStorage(str(shop.location)), MemoryStore())
    _answers(view)
    return view


def check_view(shop: Shop, view: IncrementalView) -> None:
    """Compare a kept view with a listing of the table as it is now."""
    view.sync()
    storage = LocalStorage(str(shop.location))
    with BootstrapIndex.open(storage) or nullcontext() as index:
        listed = ListingView(storage, load_timeline(storage), index)
        assert _answers(view) == _answers(listed)
    assert (view.counts.rebuilt, view.counts.resets) == (0, 0)


def _answers(view: FileSystemView) -> list[FileSlice]:
    """Return the slices of some selections of every partition."""
    chosen = (Selection.MERGED, Selection.ALL, Selection.REPLACED, Selection.BASE_ALL)
    return [each for one in chosen for each in view.select(Query(selection=one))]


def survivors(
    shop: Shop, folder: Path, attempt: Callable[[Shop, Storage], object]
) -> Iterator[Shop]:
    """Yield a recovered copy of the table for each storage step that an attempt may die at.

    The first recovery dies as well, at one of its own steps; the copy is as after the second.
    """
    for step in count(1):
        copy = shop.copied(folder)
        if not copy.dies_at(step, partial(attempt, copy)):
            return
        copy.dies_at(1 + step % 7, copy.recover)
        copy.recover()
        assert find_pending(LocalStorage(str(copy.location))) is None, step
        yield copy
        shutil.rmtree(copy.location)
