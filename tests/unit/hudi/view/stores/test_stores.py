"""Every store answers as a map of maps does, whatever it keeps where."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from framework.hudi.view.stores.embedded_kv import EmbeddedKvStore
from framework.hudi.view.stores.port import GroupStore, MemoryStore, cost_of
from framework.hudi.view.stores.spillable import SpillableStore
from framework.timeline_service.host import store_of
from framework.vocabulary import ViewStore

SMALL = 4_000
"""A bound that some partitions do not fit into."""
STORES: dict[str, Callable[[str], GroupStore]] = {
    "memory": lambda _: MemoryStore(),
    "spillable": lambda folder: SpillableStore(SMALL, folder),
    "embedded_kv": lambda folder: EmbeddedKvStore(16 << 20, folder),
}
PATHS = st.sampled_from(["", "a", "a/b", "a=1", "a=10", "ä ö", "p%20"])
IDS = st.sampled_from(["0", "1", "10", "ff-0", "é"])
RECORDS = st.dictionaries(IDS, st.binary(max_size=200))
CHANGES = st.dictionaries(IDS, st.none() | st.binary(max_size=200))


class Compared(RuleBasedStateMachine):
    """One store beside a dictionary."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory()
        self.store = STORES[self.kind](self._folder.name)
        self.expected: dict[str, dict[str, bytes]] = {}

    @rule(path=PATHS, records=RECORDS)
    def put(self, path: str, records: dict[str, bytes]) -> None:
        """Load."""
        self.store.put(path, records)
        self.expected[path] = dict(records)

    @rule(path=PATHS, changed=CHANGES)
    def change(self, path: str, changed: dict[str, bytes | None]) -> None:
        """Change what is loaded, and nothing else."""
        self.store.change(path, changed)
        if path in self.expected:
            after = {**self.expected[path], **changed}
            self.expected[path] = {k: v for k, v in after.items() if v is not None}

    @rule(path=PATHS)
    def drop(self, path: str) -> None:
        """Forget."""
        self.store.drop(path)
        self.expected.pop(path, None)

    @rule()
    def clear(self) -> None:
        """Forget all."""
        self.store.clear()
        self.expected.clear()

    @rule(path=PATHS, file_id=IDS)
    def look_up(self, path: str, file_id: str) -> None:
        """One record."""
        assert self.store.record(path, file_id) == self.expected.get(path, {}).get(file_id)
        assert self.store.is_loaded(path) == (path in self.expected)

    @rule(path=PATHS)
    def scan(self, path: str) -> None:
        """One partition."""
        found = self.store.records(path)
        assert (None if found is None else dict(found)) == self.expected.get(path)

    @invariant()
    def counts(self) -> None:
        """What is loaded, and how much."""
        assert sorted(self.store.loaded()) == sorted(self.expected)
        usage = self.store.usage()
        assert usage.partitions == len(self.expected)
        assert usage.groups == sum(map(len, self.expected.values()))

    def teardown(self) -> None:
        """Close twice, which is once."""
        self.store.close()
        self.store.close()
        self._folder.cleanup()


@pytest.mark.property
@pytest.mark.parametrize("kind", sorted(STORES))
def test_store_answers_as_a_map_of_maps_after_any_calls(kind: str) -> None:
    """Puts, changes, drops and look-ups in any order."""
    machine: Any = type(kind, (Compared,), {"kind": kind})
    case = machine.TestCase
    case.settings = settings(deadline=None, max_examples=25, stateful_step_count=30)
    case().runTest()


@pytest.fixture(params=list(ViewStore))
def store(request: pytest.FixtureRequest) -> Iterator[GroupStore]:
    """Each store that a spec can name."""
    found = store_of(request.param, 16 << 20)
    yield found
    found.close()


def test_partition_is_not_mistaken_for_one_whose_name_begins_alike(store: GroupStore) -> None:
    """A scan ends where the partition does."""
    for path in ("a", "a=1", "a/b", "a=10", ""):
        store.put(path, {f"{path}-{n}": path.encode() for n in range(3)})
    store.drop("a=1")
    assert {path: len(store.records(path) or {}) for path in sorted(store.loaded())} == {
        "": 3,
        "a": 3,
        "a/b": 3,
        "a=10": 3,
    }


def test_memory_store_with_a_bound_forgets_what_was_not_asked_for_longest() -> None:
    """What is forgotten counts as not loaded."""
    records = {f"{n:036}": b"x" * 80 for n in range(10)}
    store = MemoryStore(3 * cost_of(records))
    for path in "abc":
        store.put(path, records)
    store.records("a")
    store.put("d", records)
    assert sorted(store.loaded()) == ["a", "c", "d"]
    assert store.records("b") is None
    assert store.usage().evicted == 1
    assert store.usage().memory_bytes <= 3 * cost_of(records)


def test_spillable_store_stays_within_its_bound_and_forgets_nothing(tmp_path: Path) -> None:
    """50,000 groups in an eighth of the memory that they take, measured by the interpreter."""
    bound = 4 << 20
    tracemalloc.start()
    try:
        store = SpillableStore(bound, str(tmp_path))
        for part in range(500):
            store.put(f"p={part}", {f"{part:05}-{n:030}": b"r" * 150 for n in range(100)})
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held <= bound * 1.2, held
    assert peak <= bound * 1.2, peak
    usage = store.usage()
    assert usage.groups == 50_000
    assert usage.memory_bytes <= bound
    assert usage.evicted > 0
    assert usage.disk_bytes > 50_000 * 150
    assert store.record("p=0", f"{0:05}-{99:030}") == b"r" * 150
    assert len(store.records("p=499") or {}) == 100
    store.close()
    assert not tmp_path.exists()
