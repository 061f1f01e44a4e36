"""The plan of a rollback or a restore: which instants go, newest first, and why one may not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from framework.errors import CommitConflictError, UnsupportedTableError, Where
from framework.hudi.timeline.instant import Action, Instant

__all__ = ["SeenInstant", "UndoPlan", "plan_undo"]

_SAVEPOINT_REMEDY: Final = (
    "Drop the savepoint first with `run-pipeline savepoint drop`, or `restore --to` it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenInstant:
    """A completed instant of data, with what rolling it back takes.

    Attributes:
        instant: as it is on the timeline.
        operation: Hudi's name of the write operation.
        files: paths that it wrote, relative to the table, by partition path.
        missing: groups whose slice before it is gone, so that their rows would be lost.
        commands: log files that take its blocks back, by path of a log file that stays because it
            also holds blocks of other instants.
        inserted: rows that go; `updated` and `deleted` are rows that come back as they were.
        updated: rows that it changed.
        deleted: rows that it deleted.
    """

    instant: Instant
    operation: str
    files: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    missing: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """Which instants are rolled back.

    Attributes:
        location: the table's.
        instants: newest first; never empty.
        savepoint: the savepoint that is restored to, None for any other instant.
        drops: whether no instant of data remains, so that the table goes.
    """

    location: str
    instants: tuple[SeenInstant, ...]
    savepoint: str | None = None
    drops: bool = False

    @property
    def files(self) -> int:
        """Files that are deleted."""
        return sum(len(paths) for each in self.instants for paths in each.files.values())


def plan_undo(
    location: str, later: Sequence[SeenInstant], savepoints: frozenset[str], *, to: str | None
) -> UndoPlan:
    """Return the plan that rolls back some instants.

    Args:
        location: the table's.
        later: the instants to roll back, newest first: all completed data instants after `to`.
        savepoints: requested times under a savepoint.
        to: the instant that becomes the newest again; None where none remains.

    Raises:
        CommitConflictError: `rollback/nothing-to-undo`.
        UnsupportedTableError: `rollback/savepointed`, `rollback/cleaned`, `rollback/shared-log`.
    """
    if not later:
        raise CommitConflictError(
            "rollback/nothing-to-undo",
            f"no completed instant of data is later than {to}",
            where=Where(table=location),
            remedy="Look at the instants with `run-pipeline history`.",
        )
    for each in later:
        _check(location, each, savepoints, drops=to is None)
    return UndoPlan(
        location=location,
        instants=tuple(later),
        savepoint=to if to in savepoints else None,
        drops=to is None,
    )


def _check(location: str, seen: SeenInstant, savepoints: frozenset[str], *, drops: bool) -> None:
    """Raise where an instant cannot be rolled back."""
    time = seen.instant.requested_time
    if time in savepoints:
        raise _refused("savepointed", "a savepoint holds it", location, time, _SAVEPOINT_REMEDY)
    if seen.missing:
        raise _refused(
            "cleaned",
            f"the slices before it are gone in {len(seen.missing)} file groups, such as "
            f"{seen.missing[0]}: their rows would be lost",
            location,
            time,
            "Earlier states were cleaned; they cannot be brought back. Restore to a later instant, "
            "or load the right rows.",
        )
    if seen.commands and drops:
        raise _refused(
            "shared-log",
            f"instants that are not known wrote to its log file {next(iter(seen.commands))} too",
            location,
            time,
            "Write to the table first; then this instant is no longer the oldest.",
        )


def _refused(
    condition: str, message: str, location: str, time: str, remedy: str
) -> UnsupportedTableError:
    """Return the error for an instant that stays."""
    return UnsupportedTableError(
        f"rollback/{condition}",
        f"instant {time} cannot be rolled back: {message}",
        where=Where(table=location, instant=time),
        remedy=remedy,
    )


def undoable(instants: Sequence[Instant]) -> tuple[Instant, ...]:
    """Return the completed instants that hold data, newest first."""
    kept = (each for each in instants if each.is_completed and each.action in _UNDOABLE)
    return tuple(sorted(kept, reverse=True))


_UNDOABLE: Final = frozenset({Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT})
