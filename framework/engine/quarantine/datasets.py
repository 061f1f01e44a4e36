"""Where rows that were set aside lie, and when they count.

Below the location that a spec gives there is a folder `instant=<t>` for each run that set rows
aside: Parquet files, and `_told.json`. It gets its name just before the instant is completed, and
counts only when that is: a folder without its completed instant is of a run that died, and goes.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from framework.errors import CorruptFileError, StorageError, Where
from framework.hudi.commit.placing import read_bytes
from framework.hudi.storage.opening import open_storage
from framework.hudi.storage.port import Move
from framework.hudi.table.layout import join
from framework.hudi.timeline.timeline import load_timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.hudi.storage.port import Storage

__all__ = ["Aside", "aside_folder", "datasets", "remove", "settle_aside", "sweep", "withdraw"]

_TOLD: Final = "_told.json"
_STAGED: Final = ".staged-"
_NAME: Final = re.compile(r"instant=([0-9]{14,17})")
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Rows that one run set aside.

    Attributes:
        table: location of the table.
        instant: the run's.
        run_id: the run.
        rows: how many.
        by_rule: rows by the rule that they fail; one may fail several.
        at: when, UTC.
        files: paths of the Parquet files, absolute.
        bytes: their sizes, added.
    """

    table: str
    instant: str
    run_id: str
    rows: int
    by_rule: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    at: str = ""
    files: tuple[str, ...] = ()
    bytes: int = 0


def aside_folder(location: str, write_id: str) -> str:
    """Return where a run gathers the rows that it sets aside, absolute."""
    return join(open_storage(location).location, f"{_STAGED}{write_id}")


def settle_aside(location: str, write_id: str, told: Aside) -> None:
    """Give the rows that a run gathered their name, durably; done again it changes nothing.

    Raises:
        StorageError: they could not be named; nothing is to be published then.
    """
    storage, staged, named = open_storage(location), f"{_STAGED}{write_id}", _name(told.instant)
    if storage.stat(staged) is None and storage.stat(named) is not None:
        return
    path = join(staged, _TOLD)
    storage.delete(path)
    fields = {**asdict(told, dict_factory=dict), "version": _VERSION, "files": [], "bytes": 0}
    with storage.create(path) as out:
        out.write(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode())
    _make_durable(storage, staged)
    storage.delete(named)
    storage.move([Move(source=staged, target=named)])


def withdraw(location: str, write_id: str, instant: str | None) -> None:
    """Remove what a run gathered that publishes nothing."""
    storage = open_storage(location)
    storage.delete(f"{_STAGED}{write_id}")
    if instant is not None:
        storage.delete(_name(instant))
    storage.delete("", only_empty=True)


def sweep(location: str, table: str) -> None:
    """Remove what runs left that died: the caller holds the table's lease."""
    storage = open_storage(location)
    completed = _completed(table)
    for entry in list(storage.list("")):
        found = _NAME.fullmatch(entry.name)
        if entry.name.startswith(_STAGED) or (found and found[1] not in completed):
            storage.delete(entry.path)


def datasets(location: str, table: str) -> tuple[Aside, ...]:
    """Return what was set aside of a table, oldest first; runs that published nothing have none.

    Raises:
        CorruptFileError: `quarantine/not-readable`.
    """
    storage = open_storage(location)
    completed = _completed(table)
    found = ((entry, _NAME.fullmatch(entry.name)) for entry in storage.list(""))
    return tuple(
        _read(storage, entry.path) for entry, name in found if name and name[1] in completed
    )


def remove(location: str, instant: str) -> None:
    """Delete what was set aside at an instant."""
    storage = open_storage(location)
    storage.delete(_name(instant))
    storage.delete("", only_empty=True)


def _name(instant: str) -> str:
    """Return the folder's name."""
    return f"instant={instant}"


def _completed(table: str) -> frozenset[str]:
    """Return the instants that are completed."""
    timeline = load_timeline(open_storage(table))
    return frozenset(each.requested_time for each in timeline.completed)


def _read(storage: Storage, folder: str) -> Aside:
    """Return what a folder's own record says, and the files that there are."""
    path = join(folder, _TOLD)
    try:
        fields: dict[str, Any] = json.loads(read_bytes(storage, path))
        _check_version(fields.pop("version"))
        files = [e for e in storage.list(folder) if e.name.endswith(".parquet")]
        places = tuple(f"{storage.location}/{each.path}" for each in files)
        return Aside(**{**fields, "files": places, "bytes": sum(each.size for each in files)})
    except (ValueError, KeyError, TypeError, StorageError) as error:
        raise CorruptFileError(
            "quarantine/not-readable",
            f"what was set aside cannot be read: {error}",
            where=Where(file=f"{storage.location}/{path}"),
            remedy="The folder was changed by hand; restore it, or delete it.",
        ) from error


def _check_version(version: object) -> None:
    """Raise for a record of another release."""
    if version != _VERSION:
        raise ValueError(f"it is of version {version}")


def _make_durable(storage: Storage, folder: str) -> None:
    """Make what Spark wrote last beyond a power loss, and remove what is no data of it."""
    extra = [e.path for e in storage.list(folder) if not _is_kept(e.name)]
    storage.delete(*extra)
    for name in [e.name for e in storage.list(folder) if e.name.endswith(".parquet")]:
        copy, source = join(folder, f".copy-{name}"), join(folder, name)
        with storage.open_input(source) as stream, storage.create(copy) as out:
            while block := stream.read(1 << 22):
                out.write(block)
        storage.delete(source)
        storage.move([Move(source=copy, target=source)])


def _is_kept(name: str) -> bool:
    """Whether a file belongs to the data set."""
    return name == _TOLD or name.endswith(".parquet")
