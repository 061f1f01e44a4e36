"""Table services on an object store whose process dies before any of its changes.

The table is as before or as after, the next run finishes or rolls back, and an hour later nothing
is left. Archival, which is done instant by instant, may be half done; then it is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from framework.errors import FrameworkError
from framework.vocabulary import TableType
from tests.support.dying_objects import dies_on_objects
from tests.support.object_lives import ObjectStore, an_object_store
from tests.support.object_services import SERVICES, ServicedTable, Signature

pytestmark = pytest.mark.long

NAMES = tuple(SERVICES)
_SAMPLE = 1


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    """Return an empty store."""
    with an_object_store() as found:
        yield found


class Trial:
    """One service on one table.

    Attributes:
        table: the table.
        before: what it holds before the service.
        after: what it holds after it.
    """

    def __init__(self, name: str, table: ServicedTable) -> None:
        prepare, self.service = SERVICES[name]
        self.table, self.name = table, name
        prepare(table)
        table.store.clock.advance(3_600_000)
        table.remember()
        self.before = table.signature()
        table.dies(0, self.service)
        self.steps = table.store.service.steps
        self.after = table.signature()
        self.outcomes = set[Signature]()

    def dies_at(self, step: int, *, again_at: int = 0) -> None:
        """Let the service die at a step, and maybe the recovery too; then recover and repeat it."""
        table = self.table
        table.back()
        assert table.dies(step, self.service)
        if again_at:
            dies_on_objects(table.storage, again_at, lambda _: table.recover())
        table.recover()
        found = table.signature()
        self.outcomes.add(found)
        if self.name == "archive":
            assert found[0] == self.before[0]
        else:
            assert found in (self.before, self.after)
        if found != self.after:
            self._repeat()
            assert table.signature() == self.after
        table.check_whole()

    def _repeat(self) -> None:
        """Do the service again; names that late requests may meet are waited for."""
        try:
            self.service(self.table)
        except FrameworkError as error:
            if error.condition != "commit/not-quiet-yet":
                raise
            self.table.store.clock.advance(3_600_000)
            self.service(self.table)


def a_trial(name: str, store: ObjectStore, folder: Path, kind: TableType) -> Trial:
    """Return a service on a table of its own."""
    made = ServicedTable.adopted if name == "materialize" else ServicedTable.of
    return Trial(name, made(store, folder, kind))


@pytest.mark.parametrize("name", NAMES)
def test_service_killed_at_a_few_steps_is_finished_or_rolled_back(
    name: str, store: ObjectStore, tmp_path: Path
) -> None:
    """A sample of the steps, on a merge-on-read table."""
    trial = a_trial(name, store, tmp_path, TableType.MERGE_ON_READ)
    assert trial.steps > 4
    for step in Random(name).sample(range(2, trial.steps + 1), _SAMPLE):
        trial.dies_at(step)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", list(TableType))
@pytest.mark.parametrize("name", NAMES)
def test_service_killed_at_every_step_is_finished_or_rolled_back(
    name: str, kind: TableType, store: ObjectStore, tmp_path: Path
) -> None:
    """Each step, and at each a recovery that dies too."""
    if kind is TableType.COPY_ON_WRITE and name in {"compact", "schedule", "execute"}:
        pytest.skip("a copy-on-write table has no log files")
    trial = a_trial(name, store, tmp_path, kind)
    rng = Random(f"{name} {kind}")
    for step in range(1, trial.steps + 1):
        trial.dies_at(step)
        trial.dies_at(step, again_at=rng.randint(1, 24))
    assert trial.after in trial.outcomes
