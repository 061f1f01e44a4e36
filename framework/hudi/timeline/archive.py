"""The archived timeline of version 6: what Apache Hudi moved out of the active one (section 2.8).

An archive is log files of Avro blocks, one record per instant and state. Each record holds what the
instant's file held. Old releases keep them in `archived`, newer ones in `history`, and a property
may name another folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, read_blocks, read_content
from framework.hudi.codecs.log_records import decode_records
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import HOODIE, join
from framework.hudi.timeline.instant import Action, InstantState

__all__ = [
    "ARCHIVE_PROPERTIES",
    "ArchivedInstant",
    "archive_files",
    "archived_file_ids",
    "archived_instants",
]

ARCHIVE_PROPERTIES: Final = ("hoodie.archivelog.folder", "hoodie.timeline.history.path")
_FOLDERS: Final = ("archived", "history")
_NAME: Final = re.compile(r"\.commits_.*\.archive\.[0-9]+.*")
_COMMITS: Final = ("hoodieCommitMetadata", "hoodieReplaceCommitMetadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedInstant:
    """One action in one state, as an archive holds it.

    Attributes:
        requested_time: of the instant.
        action: as the active timeline named it.
        state: a completed action has records of its earlier states too.
        extra: `extraMetadata` of a completed commit; empty for all else.
    """

    requested_time: str
    action: Action
    state: InstantState
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def archive_files(storage: Storage, properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of all archive files; costs one listing per folder that may hold some.

    Args:
        storage: the table.
        properties: of the table; `ARCHIVE_PROPERTIES` name further folders below `.hoodie`.
    """
    named = [properties.get(key, "") for key in ARCHIVE_PROPERTIES]
    folders = dict.fromkeys(join(HOODIE, name) for name in (*_FOLDERS, *named) if name)
    return tuple(
        entry.path
        for folder in folders
        for entry in storage.list(folder)
        if not entry.is_folder and _NAME.fullmatch(entry.name)
    )


def archived_instants(storage: Storage, paths: tuple[str, ...]) -> Iterator[ArchivedInstant]:
    """Yield what archive files hold, file by file; an instant may come more than once.

    Reads and decodes every file whole. Records of actions that this release does not know are
    skipped.

    Raises:
        CorruptFileError: `timeline/corrupt-archive`, `log/block`, `log/content`.
        UnsupportedTableError: `log/data-version`.
    """
    for path in paths:
        where = Where(file=f"{storage.location}/{path}")
        for record in _records(storage, path, where):
            found = _instant(record, where)
            if found is not None:
                yield found


def archived_file_ids(
    storage: Storage, paths: Iterable[str], time: str
) -> Mapping[str, frozenset[str]] | None:
    """Return the file ids that an archived commit wrote, by partition path; None without it.

    Reads and decodes files whole, up to the one that has the commit.

    Args:
        storage: the table.
        paths: of archive files.
        time: requested time of the commit.

    Raises:
        CorruptFileError, UnsupportedTableError: as of `archived_instants`.
    """
    for path in paths:
        where = Where(file=f"{storage.location}/{path}")
        for record in _records(storage, path, where):
            if record.get("commitTime") == time:
                bodies = (record.get(name) or {} for name in _COMMITS)
                stats = next((s for b in bodies if (s := b.get("partitionToWriteStats"))), None)
                if stats:
                    return {
                        partition: frozenset(each["fileId"] for each in found)
                        for partition, found in stats.items()
                    }
    return None


def _records(storage: Storage, path: str, where: Where) -> Iterator[Mapping[str, Any]]:
    """Yield the records of an archive file."""
    with storage.open_input(path) as source:
        for block in read_blocks(source, where=where):
            if block.kind is not BlockKind.AVRO_DATA:
                raise _corrupt(where, f"it has a block of kind {block.kind.name}")
            schema = block.header.get(HeaderKey.SCHEMA, "")
            yield from decode_records(read_content(source, block), schema, where=where)


def _instant(record: Mapping[str, Any], where: Where) -> ArchivedInstant | None:
    """Return one record; None for an action that is not known."""
    try:
        action = Action(record["actionType"])
        # records of very old releases have no state, and are all of completed instants
        state = InstantState(str(record.get("actionState") or "COMPLETED").lower())
        time = str(record["commitTime"])
    except ValueError:
        return None
    except KeyError as error:
        raise _corrupt(where, f"a record has no {error}") from error
    extra: Mapping[str, str] = {}
    if state is InstantState.COMPLETED:
        bodies = (record.get(name) or {} for name in _COMMITS)
        extra = next((body["extraMetadata"] for body in bodies if body.get("extraMetadata")), {})
    return ArchivedInstant(
        requested_time=time, action=action, state=state, extra=MappingProxyType(dict(extra))
    )


def _corrupt(where: Where, reason: str) -> CorruptFileError:
    """Return the error for an archive that cannot be used."""
    return CorruptFileError(
        "timeline/corrupt-archive",
        f"the archived timeline is not readable: {reason}",
        where=where,
        remedy="The file is damaged, or of a release that is not known; restore it from a copy.",
    )
