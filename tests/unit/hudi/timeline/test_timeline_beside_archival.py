"""A listing that an archival changes half-way never shows a gap between commits."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from framework.hudi.commit.fenced import WrappedStorage
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Entry
from framework.hudi.timeline.timeline import load_timeline
from tests.support.storage_suite import put

TIMES = tuple(str(number) for number in range(10, 20))


class Torn(WrappedStorage):
    """A storage whose first listing pauses while an archival deletes commits."""

    def __init__(self, storage: MemoryStorage, after: int, gone: int) -> None:
        super().__init__(storage)
        self._after = after
        self._gone = [f".hoodie/{time}.commit" for time in TIMES[:gone]]

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield what was there at first, then what is left."""
        seen = list(self._inner.list(folder))[: self._after]
        gone, self._gone = self._gone, []
        self._inner.delete(*gone)
        last = seen[-1].name if seen else ""
        return iter([*seen, *(e for e in self._inner.list(folder) if e.name > last)])


@pytest.mark.parametrize("after", range(len(TIMES) + 1))
@pytest.mark.parametrize("gone", [0, 1, 4, 9])
def test_timeline_beside_an_archival_has_no_gap(after: int, gone: int) -> None:
    """Wherever the listing was, the commits are those from one on."""
    table = MemoryStorage(uuid4().hex)
    for time in TIMES:
        put(table, f".hoodie/{time}.commit")
    found = [e.requested_time for e in load_timeline(Torn(table, after, gone)).completed]
    assert tuple(found) == TIMES[len(TIMES) - len(found) :]
    assert len(found) >= len(TIMES) - gone
    table.forget()


def test_timeline_that_begins_under_a_savepoint_looks_at_the_commit_after() -> None:
    """Archivals pass over commits under a savepoint, so these prove nothing."""
    table = MemoryStorage(uuid4().hex)
    for name in ("10.savepoint.inflight", "10.savepoint", "10.commit"):
        put(table, f".hoodie/{name}")
    assert load_timeline(table).oldest_commit is None
    put(table, ".hoodie/11.commit")
    oldest = load_timeline(table).oldest_commit
    assert oldest is not None
    assert oldest.requested_time == "11"
    table.forget()
