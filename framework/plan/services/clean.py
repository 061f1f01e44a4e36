"""The plan of a clean: which slices no retained commit needs, by one of three policies.

A retained commit stays readable: each slice that was the latest of its group as of the earliest
retained commit, and all later ones, stay. So do slices under a savepoint.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from framework.errors import CorruptFileError, PlanError, Where
from framework.hudi.filegroup.slices import FileGroupId

__all__ = [
    "DEFAULT_KEEP_COMMITS",
    "CleanFacts",
    "CleanPlan",
    "CleanPolicy",
    "KnownFile",
    "check_needed",
    "earliest_retained",
    "needs_slice",
    "plan_clean",
]

DEFAULT_KEEP_COMMITS: Final = 10
"""As in Apache Hudi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPolicy:
    """Which slices stay; exactly one of the three is set.

    Attributes:
        keep_commits: those that this number of latest commits need.
        keep_hours: those that commits of this time need; the latest commit always counts.
        keep_versions: this number of latest slices of each file group.
    """

    keep_commits: int | None = None
    keep_hours: int | None = None
    keep_versions: int | None = None

    def __post_init__(self) -> None:
        """Refuse a policy that is none, or several.

        Raises:
            PlanError: `clean/policy`.
        """
        numbers = [
            each for each in (self.keep_commits, self.keep_hours, self.keep_versions) if each
        ]
        if len(numbers) != 1 or numbers[0] < 1:
            raise PlanError(
                "clean/policy",
                "a clean keeps either a number of commits, a time, or a number of versions",
                where=Where(),
                remedy="Give one of --keep-commits, --keep-for and --keep-versions.",
            )

    @property
    def name(self) -> str:
        """Apache Hudi's name."""
        if self.keep_versions is not None:
            return "KEEP_LATEST_FILE_VERSIONS"
        return "KEEP_LATEST_COMMITS" if self.keep_commits is not None else "KEEP_LATEST_BY_HOURS"


class KnownFile(NamedTuple):
    """A file of the table: its group, the base instant of its slice, its path below the table."""

    group: FileGroupId
    instant: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanFacts:
    """What a plan depends on.

    Attributes:
        commits: completed instants of data before the first pending one, oldest first.
        files: of all groups that may have an old slice; files already deleted are not among them.
        replaced: the instant that replaced a group.
        held: paths under a savepoint.
        savepoints: instants under a savepoint. Their states stay readable, also where a commit that
            began earlier completed after the savepoint was made.
    """

    commits: tuple[str, ...]
    files: tuple[KnownFile, ...]
    replaced: Mapping[FileGroupId, str]
    held: frozenset[str] = frozenset()
    savepoints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPlan:
    """What a clean deletes.

    Attributes:
        location: the table's.
        policy: by which it was planned.
        earliest: the earliest retained commit; "" if the policy names none, or nothing is old.
        action: action of that commit.
        last_completed: the newest completed commit; "" without one.
        files: to delete, by path.
        bytes: their size, as far as commits recorded it.
        listed: partitions that were listed, since no active commit names their old files.
        sources: URIs of source files whose skeleton is deleted; none of them is deleted.
    """

    location: str
    policy: CleanPolicy
    earliest: str = ""
    action: str = ""
    last_completed: str = ""
    files: tuple[KnownFile, ...] = ()
    bytes: int = 0
    listed: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def by_partition(self) -> Mapping[str, tuple[str, ...]]:
        """The paths to delete by partition path, both sorted."""
        found: dict[str, list[str]] = defaultdict(list)
        for each in self.files:
            found[each.group.partition_path].append(each.path)
        return {partition: tuple(sorted(paths)) for partition, paths in sorted(found.items())}


def earliest_retained(commits: Sequence[str], policy: CleanPolicy, since: str) -> str:
    """Return the earliest commit that stays readable; "" if every commit does.

    Args:
        commits: completed instants of data, oldest first.
        policy: of commits or hours.
        since: for hours: the time from which commits are retained, as an instant.
    """
    if policy.keep_commits is not None:
        return commits[-policy.keep_commits] if len(commits) > policy.keep_commits else ""
    if not commits or commits[0] >= since:
        return ""
    return next((each for each in commits if each >= since), commits[-1])


def needs_slice(instants: Iterable[str], policy: CleanPolicy, earliest: str) -> frozenset[str]:
    """Return the slices of a group that is not replaced that stay, by their base instants."""
    ordered = sorted(set(instants))
    if policy.keep_versions is not None:
        return frozenset(ordered[-policy.keep_versions :])
    if not earliest:
        return frozenset(ordered)
    before = [each for each in ordered if each < earliest]
    return frozenset((*before[-1:], *(each for each in ordered if each >= earliest)))


def plan_clean(facts: CleanFacts, policy: CleanPolicy, earliest: str) -> tuple[KnownFile, ...]:
    """Return the files of the slices that nobody needs, by path."""
    doomed: list[KnownFile] = []
    for group, files in _by_group(facts.files):
        kept = _kept(group, files, facts, policy, earliest) | _held(group, files, facts)
        doomed += (each for each in files if each.instant not in kept)
    return tuple(sorted(doomed, key=lambda each: each.path))


def check_needed(facts: CleanFacts, doomed: Iterable[KnownFile], earliest: str) -> None:
    """Raise if a file to delete is needed by a retained commit or a savepoint.

    Follows the commits in their order, independently of `plan_clean`: the latest slice of each
    group as of the earliest retained commit, or of the newest one without it, and all later ones.

    Raises:
        CorruptFileError: `audit/file-needed`; nothing was deleted.
    """
    at = earliest or (facts.commits[-1] if facts.commits else "")
    latest: dict[FileGroupId, str] = {}
    for each in facts.files:
        if each.instant <= at:
            latest[each.group] = max(latest.get(each.group, ""), each.instant)
    for each in doomed:
        is_replaced = facts.replaced.get(each.group, "~") <= at
        is_latest = latest.get(each.group) == each.instant or each.instant > at
        if each.path in facts.held or (is_latest and not is_replaced):
            raise CorruptFileError(
                "audit/file-needed",
                f"a clean would delete {each.path}, which a retained commit needs",
                where=Where(file=each.path, partition=each.group.partition_path or None),
                remedy="Nothing was deleted. Report it: this is a bug in Lakestrap.",
            )


def _kept(
    group: FileGroupId,
    files: Sequence[KnownFile],
    facts: CleanFacts,
    policy: CleanPolicy,
    earliest: str,
) -> frozenset[str]:
    """Return the base instants of the slices that stay; none of a group replaced long ago."""
    replaced = facts.replaced.get(group)
    if replaced is not None and (policy.keep_versions is not None or replaced < earliest):
        return frozenset()
    return needs_slice((each.instant for each in files), policy, earliest)


def _held(group: FileGroupId, files: Sequence[KnownFile], facts: CleanFacts) -> frozenset[str]:
    """Return the base instants of the slices that savepoints need."""
    found = {each.instant for each in files if each.path in facts.held}
    for point in facts.savepoints:
        earlier = [each.instant for each in files if each.instant <= point]
        if earlier and facts.replaced.get(group, "~") > point:
            found.add(max(earlier))
    return frozenset(found)


def _by_group(files: Iterable[KnownFile]) -> Iterator[tuple[FileGroupId, list[KnownFile]]]:
    found: dict[FileGroupId, list[KnownFile]] = defaultdict(list)
    for each in files:
        found[each.group].append(each)
    yield from found.items()
