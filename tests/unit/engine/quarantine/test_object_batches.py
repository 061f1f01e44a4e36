"""Data sets of quarantined rows on an object store: named, resumed, swept and discarded."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.places import canonical
from framework.engine.quarantine.datasets import sweep, waiting
from framework.engine.quarantine.quarantined_batch import (
    QuarantinedBatch,
    discard,
    gathering_folders,
    name_batch,
    withdraw,
)
from framework.hudi.storage.memory_objects import MemoryObjectStorage
from framework.hudi.table.layout import join
from tests.support.dying_objects import DyingObjects, dies_on_objects
from tests.support.quarantine import published_run
from tests.support.scenes import Scene, a_scene, adopt
from tests.support.sources import ids

LATER, RUN = "20260101000000000", "a" * 32


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a table's rows are quarantined.

    Attributes:
        storage: the place.
        scene: of the table.
    """

    storage: MemoryObjectStorage
    scene: Scene

    @property
    def table(self) -> str:
        """The table's location."""
        return str(self.scene.location)

    @property
    def location(self) -> str:
        """The place's location."""
        return self.storage.location

    def gathered(self, instant: str, run_id: str) -> QuarantinedBatch:
        """Write rows as Spark does, and return the data set that they are to become."""
        staged, _ = gathering_folders(self.table, run_id)
        for number in range(2):
            held = io.BytesIO()
            pq.write_table(pa.table({"id": [number, number + 10]}), held)
            with self.storage.create(join(staged, f"part-{number:05}-c000.parquet")) as out:
                out.write(held.getvalue())
        with self.storage.create(join(staged, "_SUCCESS")):
            pass
        table = canonical(self.table)
        return QuarantinedBatch(table=table, instant=instant, run_id=run_id, rows=4, at="now")

    def names(self) -> set[str]:
        """Return all keys."""
        return set(self.storage.service.objects)

    def counting(self) -> list[tuple[str, int]]:
        """Return run and rows of the data sets that count, by their files."""
        found = waiting(self.table, self.location)
        return [
            (
                each.run_id,
                sum(
                    pq.read_metadata(
                        self.storage.open_input(file.removeprefix(f"{self.location}/"))
                    ).num_rows
                    for file in each.files
                ),
            )
            for each in found
        ]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Return an empty place of a table with one published run."""
    scene = a_scene(tmp_path / "scene", {"p=1/a": ids(1, 2)})
    adopt(scene)
    storage = MemoryObjectStorage(f"{tmp_path.name}/rows", DyingObjects())
    yield Place(storage=storage, scene=scene)
    storage.forget()


Attempt = Callable[[MemoryObjectStorage], None]


def naming(place: Place, batch: QuarantinedBatch) -> Attempt:
    """Return the attempt to name a data set."""
    return lambda _: name_batch(place.location, batch)


def discarding(place: Place, batch: QuarantinedBatch) -> Attempt:
    """Return the attempt to discard a data set."""
    return lambda storage: discard(storage, batch, place.table)


def test_data_set_whose_naming_is_killed_is_there_whole_or_not_and_is_named_again(
    place: Place,
) -> None:
    """The same run resumes; nothing but the data set is left."""
    instant, run_id = published_run(place.scene.location)
    whole = [(run_id, 4)]
    seen = set()
    for step in count(1):
        place.storage.service.objects.clear()
        batch = place.gathered(instant, run_id)
        died = dies_on_objects(place.storage, step, naming(place, batch))
        found = place.counting()
        assert found in ([], whole), step
        seen.add(bool(found))
        if died:
            name_batch(place.location, batch)
        assert place.counting() == whole
        assert not [key for key in place.names() if "/." in key]
        if not died:
            break
    assert seen == {True, False}


@pytest.mark.parametrize("ends", ["withdrawn", "swept"])
def test_data_set_of_a_run_that_did_not_publish_leaves_nothing(place: Place, ends: str) -> None:
    """At whatever step its naming died; the run withdraws it, or another run sweeps it."""
    kept = place.gathered(*published_run(place.scene.location))
    name_batch(place.location, kept)
    before = place.names()
    for step in count(1):
        batch = place.gathered(LATER, RUN)
        died = dies_on_objects(place.storage, step, naming(place, batch))
        assert len(place.counting()) == 1
        if ends == "withdrawn":
            withdraw(place.location, place.table, RUN, LATER)
        else:
            sweep(place.table, place.location)
        assert place.names() == before, step
        if not died:
            break
    assert step > 6


def test_discard_that_is_killed_is_finished_by_a_sweep(place: Place) -> None:
    """The data set is there whole, or does not count."""
    kept = place.gathered(*published_run(place.scene.location))
    name_batch(place.location, kept)
    before = place.names()
    for step in count(1):
        batch = place.gathered(LATER, RUN)
        name_batch(place.location, batch)
        died = dies_on_objects(place.storage, step, discarding(place, batch))
        assert len(place.counting()) == 1
        sweep(place.table, place.location)
        assert place.names() == before, step
        if not died:
            break
    assert step > 3
