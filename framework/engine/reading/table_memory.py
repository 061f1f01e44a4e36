"""A table's memory: its adoption, its key rule, and the files and run ids of its loads.

It is stored in the state file that the newest Lakestrap commit names
(`framework.hudi.commit.state_files`), so it outlives the active timeline, and a rollback of a
commit also removes what the commit added. Hashes of loaded files and run ids are in sets of sorted
segments. A load adds its hashes, few of them inside the state file itself, and merges segments of
similar size, so that its cost does not grow with the number of earlier loads.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from framework.engine.tasks import decode, encode
from framework.errors import CorruptFileError, UnsupportedTableError, Where
from framework.hudi.codecs.hash_sort import distinct
from framework.hudi.commit.intent import Intent
from framework.hudi.commit.placement import read_bytes
from framework.hudi.commit.state_files import STATE_KEY, StateRef, find_state, place_state
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import RELOCATED
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.timeline import Timeline
from framework.plan.facts import BootstrapFacts

__all__ = [
    "HashSet",
    "TableMemory",
    "decode_memory",
    "file_hash",
    "read_memory",
    "relocated_to",
    "store_memory",
    "text_hash",
]

_VERSION: Final = 1
_PATH: Final = "bootstrap.path"
_HASHES: Final = np.dtype("<u8")
_MOST_INLINE: Final = 4096
"""Hashes that a state file holds itself: 44 kB, which costs less than one more file to sync."""
_LIKE: Final = 4
"""A segment is merged with the one before it unless that is this many times larger, so a set of n
hashes has about log4(n / 4096) segments, and each hash is written as many times."""


def file_hash(path: str, size: int, mtime_ns: int) -> int:
    """Return the hash by which a file of a source is remembered; other size or time, other file."""
    return text_hash(f"{path}\0{size}\0{mtime_ns}")


def text_hash(text: str) -> int:
    """Return the hash by which a text, such as a run id, is remembered: 64 bits."""
    data = text.encode(errors="surrogateescape")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class HashSet:
    """A set of 64-bit hashes.

    Attributes:
        recent: the newest ones, sorted, as base64 of little-endian numbers.
        segments: files of sorted hashes, largest first.
    """

    recent: str = ""
    segments: tuple[StateRef, ...] = ()

    def holds(self, storage: Storage, hashes: np.ndarray) -> np.ndarray:
        """Return for each hash whether it is in the set; reads each segment whole.

        Raises:
            CorruptFileError: `state/lost`, `state/damaged`.
        """
        found = np.zeros(hashes.size, np.bool_)
        for part in (self._recent(), *(_numbers(each.read(storage)) for each in self.segments)):
            if part.size:
                places = np.minimum(np.searchsorted(part, hashes), part.size - 1)
                found |= part[places] == hashes
        return found

    def with_added(
        self, storage: Storage, intent: Intent, name: str, hashes: Iterable[int]
    ) -> HashSet:
        """Return the set with some hashes more; stores a segment where they do not fit inline.

        Raises:
            CorruptFileError: `state/lost`, `state/damaged`; a segment to merge cannot be read.
            CommitConflictError: as of `place_state`.
        """
        recent = _united(self._recent(), np.fromiter(hashes, _HASHES))
        if recent.size <= _MOST_INLINE:
            return replace(self, recent=base64.b64encode(recent.tobytes()).decode())
        segments = list(self.segments)
        while segments and segments[-1].size < _LIKE * recent.nbytes:
            recent = _united(_numbers(segments.pop().read(storage)), recent)
        stored = place_state(storage, intent, f"{name}.hashes", recent.astype(_HASHES).tobytes())
        return HashSet(segments=(*segments, stored))

    def _recent(self) -> np.ndarray:
        return _numbers(base64.b64decode(self.recent))


def _united(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return distinct(np.concatenate([one, other]))


def _numbers(data: bytes) -> np.ndarray:
    return np.frombuffer(data, _HASHES)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMemory:
    """The content of a state file.

    Attributes:
        version: of this form.
        bootstrap: facts of the bootstrap as JSON, with the key rule; None if Lakestrap did not
            adopt the table.
        key_rule: of Lakestrap's commits.
        immutable: spec fields that cannot change, key path to value as text.
        loaded: files that are loaded, by id of their source.
        run_ids: ids that runs were given.
        released: instants whose quarantined rows were loaded again, each with the instant that did.
        places: locations of quarantined rows, oldest first.
    """

    version: int = _VERSION
    bootstrap: str | None = None
    key_rule: KeyRule
    immutable: Mapping[str, str]
    loaded: Mapping[str, HashSet] = field(default_factory=lambda: MappingProxyType({}))
    run_ids: HashSet = field(default_factory=HashSet)
    released: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    places: tuple[str, ...] = ()

    @property
    def facts(self) -> BootstrapFacts | None:
        """The facts of our bootstrap, None where there was none.

        Raises:
            CorruptFileError: `facts/not-readable`.
            UnsupportedTableError: `facts/newer-version`.
        """
        return None if self.bootstrap is None else BootstrapFacts.from_json(self.bootstrap)

    def relocated(self, source: str) -> TableMemory:
        """Return the memory of a table whose source is at another location."""
        body = json.loads(self.bootstrap or "{}")
        fields = {**(body.get("immutable") or {}), _PATH: source}
        body = {**body, "source": source, "immutable": fields}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return replace(self, bootstrap=text, immutable={**self.immutable, _PATH: source})

    def segments(self) -> frozenset[str]:
        """Return the paths of the segments that it needs."""
        sets = (*self.loaded.values(), self.run_ids)
        return frozenset(segment.path for each in sets for segment in each.segments)

    def has_run(self, storage: Storage, run_id: str) -> bool:
        """Return whether a run of this id was published; reads the segments of `run_ids`."""
        wanted = np.array([text_hash(run_id)], _HASHES)
        return bool(self.run_ids.holds(storage, wanted)[0])


def read_memory(
    storage: Storage, timeline: Timeline, *, only_with_folder: bool = False
) -> TableMemory | None:
    """Return a table's memory; None if no completed commit is Lakestrap's.

    Costs one read of the state file beside what `find_state` costs.

    Args:
        storage: the table.
        timeline: of the table, whole.
        only_with_folder: as of `find_state`.

    Raises:
        CorruptFileError: `state/lost`, `state/damaged`, `state/not-readable`, and as of
            `find_state`.
        UnsupportedTableError: `state/newer-version`.
    """
    properties = read_properties(storage)
    raw = properties.raw if properties is not None else {}
    ref = find_state(storage, timeline, raw, only_with_folder=only_with_folder)
    if ref is None:
        return None
    memory = decode_memory(ref.read(storage), f"{storage.location}/{ref.path}")
    source = relocated_to(storage) if memory.bootstrap else None
    return memory if source is None else memory.relocated(source)


def relocated_to(storage: Storage) -> str | None:
    """Return where the source of a table's bootstrap was relocated to, last; None if never.

    Raises:
        CorruptFileError: `relocate/not-readable`.
    """
    if storage.stat(RELOCATED) is None:
        return None
    try:
        return str(json.loads(read_bytes(storage, RELOCATED))["source"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptFileError(
            "relocate/not-readable",
            f"the record of the source's location is not readable: {error}",
            where=Where(file=f"{storage.location}/{RELOCATED}"),
            remedy="Delete the file, and run `run-pipeline relocate` again.",
        ) from error


def store_memory(storage: Storage, intent: Intent, memory: TableMemory) -> dict[str, str]:
    """Store a memory as the state file of a run; return the entry that its commit needs.

    Raises:
        CommitConflictError: as of `place_state`.
    """
    data = encode(memory).encode()
    return {STATE_KEY: place_state(storage, intent, "state.json", data).as_json()}


def decode_memory(data: bytes, file: str) -> TableMemory:
    """Return the memory in a state file.

    Raises:
        CorruptFileError: `state/not-readable`.
        UnsupportedTableError: `state/newer-version`.
    """
    where = Where(file=file)
    try:
        memory = decode(TableMemory, data.decode())
    except ValueError as error:
        raise CorruptFileError(
            "state/not-readable",
            f"the state file is not readable: {error}",
            where=where,
            remedy="Use the release that wrote it, or a later one; nothing was changed.",
        ) from error
    if memory.version > _VERSION:
        raise UnsupportedTableError(
            "state/newer-version",
            f"the table's state is of version {memory.version}; this release knows {_VERSION}",
            where=where,
            remedy="Use the release that wrote it, or a later one.",
        )
    return memory
