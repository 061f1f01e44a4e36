"""What a table's commits remember of loads: which files of a source are in, and under which ids.

Each commit has the whole memory, as far as the source still has the files, so one is enough to
know; whoever rolls a commit back rolls its memory back with it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from framework.engine.tasks import decode, encode
from framework.errors import CorruptFileError, Where
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import Timeline
from framework.plan.load import LoadPlan
from framework.plan.target import Target

__all__ = [
    "LOAD_KEY",
    "LoadFacts",
    "LoadState",
    "file_hash",
    "load_facts",
    "load_state",
    "read_load",
]

LOAD_KEY: Final = "lakestrap.load"
_LOADED_KEY: Final = "lakestrap.loaded"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadState:
    """What the commits of a table say of earlier loads.

    Attributes:
        loaded: hashes of the files of one source that are loaded.
        run_ids: ids that runs of the table were given.
    """

    loaded: frozenset[int] = frozenset()
    run_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFacts:
    """What the commit of a load says of it.

    Attributes:
        version: of these facts.
        operation: a value of `WriteOperation`.
        source: id of the source, which remembered files belong to.
        files: of the input.
        bytes: their sizes.
        run_id: that the run was given, None without one.
        released: the instant whose quarantined rows were loaded, None for other loads.
        key_rule: the table's.
        immutable: what must stay as it was, key path in the spec to its value as text.
    """

    version: int
    operation: str
    source: str
    files: int
    bytes: int
    run_id: str | None
    released: str | None
    key_rule: KeyRule
    immutable: dict[str, str]


def file_hash(path: str, size: int, mtime_ns: int) -> int:
    """Return what a file of a source is remembered by; another size or time is another file."""
    text = f"{path}\0{size}\0{mtime_ns}".encode(errors="surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def load_facts(target: Target, plan: LoadPlan) -> dict[str, str]:
    """Return what the commit of a load says of it under `lakestrap.*`."""
    facts = LoadFacts(
        version=_VERSION,
        operation=plan.operation,
        source=plan.source_id,
        files=plan.files,
        bytes=plan.bytes,
        run_id=plan.run_id,
        released=plan.releases,
        key_rule=target.key_rule,
        immutable=dict(target.immutable),
    )
    memory = np.array(sorted(plan.remembered), np.dtype("<u8")).tobytes()
    return {
        LOAD_KEY: encode(facts),
        _LOADED_KEY: base64.b64encode(memory).decode(),
    }


def load_state(storage: Storage, timeline: Timeline, source_id: str) -> LoadState:
    """Return what the commits say of earlier loads of a source; reads the head of each commit."""
    loaded: frozenset[int] | None = None
    run_ids = set()
    for instant in reversed(timeline.completed):
        if instant.action not in DATA_ACTIONS:
            continue
        extra = read_commit_head(storage, instant.path).extra
        facts = read_load(extra, where=Where(file=instant.path))
        if facts is None:
            continue
        if facts.run_id:
            run_ids.add(facts.run_id)
        if loaded is None and facts.source == source_id:
            loaded = frozenset(_numbers(extra.get(_LOADED_KEY, ""), instant.path))
    return LoadState(loaded=loaded or frozenset(), run_ids=frozenset(run_ids))


def read_load(extra: Mapping[str, str], *, where: Where | None = None) -> LoadFacts | None:
    """Return what a commit says of its load; None where it is not one of ours.

    Raises:
        CorruptFileError: `load/facts-not-readable`.
    """
    text = extra.get(LOAD_KEY)
    if text is None:
        return None
    try:
        facts = decode(LoadFacts, text)
    except ValueError as error:
        raise _not_readable(str(error), where) from error
    if facts.version != _VERSION:
        raise _not_readable("it is of another release", where)
    return facts


def _numbers(text: str, path: str) -> Iterable[int]:
    """Return the numbers in a text."""
    try:
        data = base64.b64decode(text, validate=True)
        return [int(each) for each in np.frombuffer(data, np.dtype("<u8"))]
    except ValueError as error:
        raise _not_readable(str(error), Where(file=path)) from error


def _not_readable(message: str, where: Where | None) -> CorruptFileError:
    """Return the error for a commit that was changed."""
    return CorruptFileError(
        "load/facts-not-readable",
        f"what the commit says of its load is not readable: {message}",
        where=where,
        remedy="The commit file was changed after it was written; restore it.",
    )
