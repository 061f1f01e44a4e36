"""The Avro files of a clean, and the limits they set on time travel (format sheet, section 2.7).

The plan and the result are of Apache Hudi's version 2: the plan has whole paths, the result names
of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from framework.errors import CorruptFileError, UnsupportedTableError, Where
from framework.hudi.codecs.avro import ContainerFormat, read_container
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join, name_of
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant
from framework.hudi.timeline.timeline import Timeline

__all__ = [
    "PlannedClean",
    "check_not_cleaned",
    "clean_bytes",
    "clean_plan_bytes",
    "read_clean_plan",
]

_VERSION_2: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedClean:
    """What a clean deletes.

    Attributes:
        policy: Apache Hudi's name of the policy.
        earliest: the first commit whose state stays readable; "" if the policy names none.
        action: action of that commit; "" likewise.
        last_completed: the newest completed commit when it was planned.
        files: paths to delete, relative to the table, by partition path.
    """

    policy: str
    earliest: str
    action: str
    last_completed: str
    files: Mapping[str, tuple[str, ...]]


def clean_plan_bytes(location: str, plan: PlannedClean, extra: Mapping[str, str]) -> bytes:
    """Return a requested clean; `extra` is what the file says under `extraMetadata`."""
    earliest = {"timestamp": plan.earliest, "action": plan.action, "state": "COMPLETED"}
    return _PLAN.write(
        {
            "earliestInstantToRetain": earliest if plan.earliest else None,
            "lastCompletedCommitTimestamp": plan.last_completed,
            "policy": plan.policy,
            "filesToBeDeletedPerPartition": {},
            "version": _VERSION_2,
            "filePathsToBeDeletedPerPartition": {
                partition: [
                    {"filePath": f"{location}/{path}", "isBootstrapBaseFile": False}
                    for path in paths
                ]
                for partition, paths in plan.files.items()
            },
            "partitionsToBeDeleted": [],
            "extraMetadata": dict(sorted(extra.items())),
        }
    )


def read_clean_plan(storage: Storage, path: str) -> PlannedClean:
    """Return what a requested clean of Lakestrap deletes; one small read.

    Raises:
        CorruptFileError: `avro/corrupt`, `timeline/corrupt-plan`.
    """
    where = Where(file=f"{storage.location}/{path}")
    with storage.open_input(path) as source:
        data = bytes(source.read())
    try:
        record = read_container(data, where=where)
        earliest = record["earliestInstantToRetain"] or {}
        return PlannedClean(
            policy=record["policy"],
            earliest=earliest.get("timestamp", ""),
            action=earliest.get("action", ""),
            last_completed=record["lastCompletedCommitTimestamp"],
            files={
                partition: tuple(join(partition, name_of(each["filePath"])) for each in files)
                for partition, files in record["filePathsToBeDeletedPerPartition"].items()
            },
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise CorruptFileError(
            "timeline/corrupt-plan",
            f"the file cannot be used: {error!r}",
            where=where,
            remedy="The file is damaged; restore it from a copy, nothing was changed.",
        ) from error


def clean_bytes(time: str, plan: PlannedClean, *, took_ms: int) -> bytes:
    """Return a completed clean at `time`; a planned file that was missing counts as deleted."""
    return _RESULT.write(
        {
            "startCleanTime": time,
            "timeTakenInMillis": took_ms,
            "totalFilesDeleted": sum(map(len, plan.files.values())),
            "earliestCommitToRetain": plan.earliest,
            "lastCompletedCommitTimestamp": plan.last_completed,
            "partitionMetadata": {
                partition: _deleted(partition, plan.policy, [name_of(path) for path in paths])
                for partition, paths in plan.files.items()
            },
            "version": _VERSION_2,
            "bootstrapPartitionMetadata": {},
        }
    )


def _deleted(partition: str, policy: str, names: list[str]) -> dict[str, Any]:
    """Return the record of one partition."""
    return {
        "partitionPath": partition,
        "policy": policy,
        "deletePathPatterns": names,
        "successDeleteFiles": names,
        "failedDeleteFiles": [],
        "isPartitionDeleted": False,
    }


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    """Return a record schema."""
    namespace = "org.apache.hudi.avro.model"
    return {"type": "record", "name": name, "namespace": namespace, "fields": list(fields)}


def _field(name: str, kind: Any) -> dict[str, Any]:
    """Return a field without a default."""
    return {"name": name, "type": kind}


def _nullable(name: str, kind: Any) -> dict[str, Any]:
    """Return a field that may be null."""
    return {"name": name, "type": ["null", kind], "default": None}


def _list_of(kind: Any) -> dict[str, Any]:
    """Return an array's schema."""
    return {"type": "array", "items": kind}


def _map_of(kind: Any) -> dict[str, Any]:
    """Return a map's schema."""
    return {"type": "map", "values": kind}


_VERSION: Final = {"name": "version", "type": ["int", "null"], "default": 1}
_LAST: Final = {"name": "lastCompletedCommitTimestamp", "type": "string", "default": ""}
_PLAN: Final = ContainerFormat(
    _record(
        "HoodieCleanerPlan",
        _nullable(
            "earliestInstantToRetain",
            _record(
                "HoodieActionInstant",
                _field("timestamp", "string"),
                _field("action", "string"),
                _field("state", "string"),
            ),
        ),
        _LAST,
        _field("policy", "string"),
        _nullable("filesToBeDeletedPerPartition", _map_of(_list_of("string"))),
        _VERSION,
        _nullable(
            "filePathsToBeDeletedPerPartition",
            _map_of(
                _list_of(
                    _record(
                        "HoodieCleanFileInfo",
                        _nullable("filePath", "string"),
                        _nullable("isBootstrapBaseFile", "boolean"),
                    )
                )
            ),
        ),
        _nullable("partitionsToBeDeleted", _list_of("string")),
        _nullable("extraMetadata", _map_of("string")),
    )
)
_RESULT: Final = ContainerFormat(
    _record(
        "HoodieCleanMetadata",
        _field("startCleanTime", "string"),
        _field("timeTakenInMillis", "long"),
        _field("totalFilesDeleted", "int"),
        _field("earliestCommitToRetain", "string"),
        _LAST,
        _field(
            "partitionMetadata",
            _map_of(
                _record(
                    "HoodieCleanPartitionMetadata",
                    _field("partitionPath", "string"),
                    _field("policy", "string"),
                    _field("deletePathPatterns", _list_of("string")),
                    _field("successDeleteFiles", _list_of("string")),
                    _field("failedDeleteFiles", _list_of("string")),
                    _nullable("isPartitionDeleted", "boolean"),
                )
            ),
        ),
        _VERSION,
        _nullable("bootstrapPartitionMetadata", _map_of("HoodieCleanPartitionMetadata")),
    )
)


_BOUNDS: Final = ("earliestCommitToRetain", "lastCompletedCommitTimestamp", "startCleanTime")


def check_not_cleaned(storage: Storage, timeline: Timeline, instant: str) -> None:
    """Raise if slices that made up the table at `instant` may have been deleted.

    `timeline` must be the whole timeline. Slices under a savepoint are never cleaned, nor are those
    of the newest instant, which a restore may have gone back to. Costs one small read per completed
    clean.

    Raises:
        UnsupportedTableError: `read/cleaned`, `read/archived`, `read/before-table`.
        CorruptFileError: `avro/corrupt`.
    """
    if any(each.requested_time == instant for each in _of(timeline, Action.SAVEPOINT)):
        return
    written = [e.requested_time for e in timeline.completed if e.action in DATA_ACTIONS]
    if written and instant >= written[-1]:
        return
    data = [each for each in timeline.instants if each.is_completed]
    if not data or instant < data[0].requested_time:
        raise _lost("before-table", "the timeline starts later", instant)
    if timeline.first_active is not None and instant < timeline.first_active:
        message = f"instants before {timeline.first_active} were archived"
        raise _lost("archived", message, instant)
    for clean in _of(timeline, Action.CLEAN):
        bound = _bound(storage, clean)
        if instant < bound:
            raise _lost("cleaned", f"slices before {bound} were cleaned", instant)


def _of(timeline: Timeline, action: Action) -> list[Instant]:
    return [each for each in timeline.completed if each.action is action]


def _bound(storage: Storage, clean: Instant) -> str:
    """Return the first instant whose slices a clean left complete, `""` if it deleted nothing.

    A clean by number of versions names no commit; then it is the last commit before the clean.
    """
    with storage.open_input(clean.path) as source:
        found = read_container(
            bytes(source.read()), where=Where(file=f"{storage.location}/{clean.path}")
        )
    if not any(part["successDeleteFiles"] for part in found["partitionMetadata"].values()):
        return ""
    return next((found[name] for name in _BOUNDS if found.get(name)), "")


def _lost(condition: str, message: str, instant: str) -> UnsupportedTableError:
    """Return the error for a state of the table that is no longer available."""
    return UnsupportedTableError(
        f"read/{condition}",
        f"the table as of {instant} cannot be read: {message}",
        where=Where(instant=instant),
        remedy="Choose a later time; a savepoint keeps a state from being cleaned.",
    )
