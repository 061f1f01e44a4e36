"""Whether a process that runs tasks reaches the locations of a run: the same files, not others.

A task that does not share a disk with the driver finds another folder, or none, under the same
path. So the driver notes files that it sees, and the task compares. Where tasks write to a disk,
the driver creates a file with a random name, and the task creates one beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Final
from uuid import uuid4

from framework.engine.places import canonical, missing_parents
from framework.engine.tasks import decode, encode
from framework.errors import FrameworkError, StorageError
from framework.hudi.storage.hdfs_uri import is_hdfs_uri
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.object_uri import is_object_uri
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import HOODIE

__all__ = ["Place", "Reach", "ReachTask", "SeenFile", "Unreached", "places_seen", "reach_task"]

_SAMPLES: Final = 5
_FOLDERS: Final = 20
_PROBE: Final = ".lakestrap-probe-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFile:
    """A file below a location, as the driver sees it."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A location that tasks need.

    Attributes:
        location: of a folder, canonical.
        writes: whether tasks write there.
        seen: files that tasks must find; empty if the location is the same from everywhere.
        probe: the folder in which the driver created a file, and tasks create one; None if tasks
            write nothing, or the location is the same from everywhere.
    """

    location: str
    writes: bool = False
    seen: tuple[SeenFile, ...] = ()
    probe: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachTask:
    """The locations that one process looks for."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreached:
    """A location that a process does not reach.

    Attributes:
        location: as in the task.
        is_other: whether another folder is found there, or none: the disk is not shared.
        condition: of the fault; empty if there was none.
        message: what was found instead.
        remedy: of the fault; empty if there was none.
    """

    location: str
    is_other: bool
    message: str
    condition: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What one process did not reach; empty if all was reached."""

    unreached: tuple[Unreached, ...] = ()


@contextmanager
def places_seen(reads: Sequence[str], writes: Sequence[str] = ()) -> Iterator[tuple[Place, ...]]:
    """Yield the locations with what the driver sees there.

    Local folders that tasks write to have a file of the driver's until the end of the context: in
    `.hoodie`, or in the nearest folder that exists. Costs a look into a few folders.

    Raises:
        StorageError: the driver itself cannot read or write there.
    """
    found = [_seen(canonical(each)) for each in reads]
    found += [_probed(canonical(each)) for each in writes]
    created: list[Place] = []
    try:
        for each in found:
            if each.probe is not None:
                created.append(each)
                with open_storage(each.probe).create(each.seen[0].path, durable=False) as out:
                    out.write(each.seen[0].path.encode())
        yield tuple(found)
    finally:
        for each in created:
            with suppress(StorageError):
                open_storage(each.probe or "").delete(each.seen[0].path)


def reach_task(descriptor: str) -> str:
    """Return a `Reach` for a `ReachTask`: each location that this process does not reach."""
    places = decode(ReachTask, descriptor).places
    return encode(Reach(unreached=tuple(filter(None, map(_unreached, places)))))


def _seen(location: str) -> Place:
    """Return a location that tasks read, with a few of its files if it is on a disk."""
    if _is_everywhere(location):
        return Place(location=location)
    storage = open_storage(location)
    files = islice(_files(storage), _SAMPLES)
    seen = tuple(SeenFile(path=f.path, size=f.size, mtime_ns=f.mtime_ns) for f in files)
    return Place(location=location, seen=seen)


def _probed(location: str) -> Place:
    """Return a location that tasks write to, with the name of a probe if it is on a disk."""
    if _is_everywhere(location):
        return Place(location=location, writes=True)
    name = f"{_PROBE}{uuid4().hex}"
    probe = SeenFile(path=name, size=len(name), mtime_ns=0)
    return Place(location=location, writes=True, seen=(probe,), probe=_lowest(location))


def _is_everywhere(location: str) -> bool:
    """Return whether a location means the same on each machine."""
    return is_object_uri(location) or is_hdfs_uri(location)


def _lowest(location: str) -> str:
    """Return the folder for a probe: inside the table, else the lowest folder that exists."""
    storage = open_storage(location)
    if storage.stat(HOODIE) is not None:
        return f"{storage.location}/{HOODIE}"
    if storage.stat("") is not None:
        return storage.location
    missing = missing_parents(storage.location)
    return str(PurePosixPath(missing[-1] if missing else storage.location).parent)


def _files(storage: Storage) -> Iterator[Entry]:
    """Yield files in the order of their names, level by level; looks into a few folders only."""
    folders = [""]
    for _, folder in zip(range(_FOLDERS), folders, strict=False):
        for entry in storage.list(folder):
            if entry.is_folder:
                folders.append(entry.path)
            elif not entry.name.startswith((".", "_")):
                yield entry


def _unreached(place: Place) -> Unreached | None:
    """Return why this process does not reach a place, None if it does."""
    try:
        return _difference(place)
    except FrameworkError as error:
        return Unreached(
            location=place.location,
            is_other=error.condition == "storage/not-found",
            condition=error.condition,
            message=error.message,
            remedy=error.remedy,
        )


def _difference(place: Place) -> Unreached | None:
    storage = open_storage(place.probe or place.location)
    if storage.stat("") is None and not (place.writes and place.probe is None):
        return _other(place, "there is no such folder")
    for file in place.seen:
        found = storage.stat(file.path)
        if found is None:
            return _other(place, f"{file.path} is missing")
        if found.size != file.size or found.mtime_ns != (file.mtime_ns or found.mtime_ns):
            return _other(place, f"{file.path} differs")
    if place.probe is not None:
        _write_beside(storage, place.seen[0].path)
    return None


def _write_beside(storage: Storage, probe: str) -> None:
    """Create and delete a file."""
    name = f"{probe}-{uuid4().hex}"
    with storage.create(name, durable=False):
        pass
    storage.delete(name)


def _other(place: Place, message: str) -> Unreached:
    return Unreached(location=place.location, is_other=True, message=message)
