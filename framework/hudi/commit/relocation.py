"""Naming another location of a table's source, in every file that names it (ADR 0044).

Source files at both locations are the same, so every state in between is right wherever a reader
finds its source: it may take either. Each file is replaced whole, the partitions file of the index,
which readers follow, last. All steps can be repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from framework.hudi.bootstrap.index import BootstrapIndex, write_moved
from framework.hudi.commit.lease import Lease, require
from framework.hudi.commit.properties_update import replace_properties
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.port import Move, Storage
from framework.hudi.table import layout
from framework.hudi.table.properties import TableProperties

__all__ = ["Relocation", "relocate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """Another location of a source.

    Attributes:
        source: the location, as a spec names it.
        base_uri: its full URI.
        move: returns the new URI of a source file; one that is there already stays.
    """

    source: str
    base_uri: str
    move: Callable[[str], str]


def relocate(
    storage: Storage, lease: Lease, properties: TableProperties, relocation: Relocation
) -> None:
    """Write the location into index, record and properties.

    Reads and writes the index once, and its copy of ADR 0037.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
        CorruptFileError: the index is damaged; nothing was changed.
    """
    staging = Staging(write_id=lease.owner.write_id)
    partitions, fileids = _moved_index(storage, staging, BootstrapIndex.open, relocation)
    replaced = [(fileids, layout.BOOTSTRAP_FILEIDS_INDEX)]
    kept = (layout.ADOPTED_PARTITIONS_INDEX, layout.ADOPTED_FILEIDS_INDEX)
    if all(storage.stat(path) for path in kept):
        adopted = _moved_index(storage, staging, BootstrapIndex.open_adopted, relocation)
        replaced += zip(adopted, kept, strict=True)
    record = staging.new_publish()
    with storage.create(record) as out:
        out.write(json.dumps({"version": 1, "source": relocation.source}).encode())
    for new, place in replaced:
        _replace(storage, lease, new, place)
    _replace(storage, lease, record, layout.RELOCATED)
    require(storage, lease)
    replace_properties(storage, staging, properties.with_bootstrap_base(relocation.base_uri))
    _replace(storage, lease, partitions, layout.BOOTSTRAP_PARTITIONS_INDEX)


def _moved_index(
    storage: Storage,
    staging: Staging,
    opened: Callable[[Storage], BootstrapIndex | None],
    relocation: Relocation,
) -> tuple[str, str]:
    """Write both files of a moved index; return their paths. The caller knows that there is one."""
    paths = (staging.new_publish(), staging.new_publish())
    index = opened(storage)
    if index is not None:
        with index:
            write_moved(storage, index, relocation.base_uri, relocation.move, paths)
    return paths


def _replace(storage: Storage, lease: Lease, new: str, place: str) -> None:
    """Give a new file its name, which may be free."""
    require(storage, lease)
    storage.delete(layout.crc_sidecar(place))
    move = Move(source=new, target=place)
    if storage.stat(place) is None:
        storage.move([move])
    else:
        storage.replace(move)
