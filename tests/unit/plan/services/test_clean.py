"""The plan of a clean: which slices stay, by each policy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError, PlanError
from framework.hudi.filegroup.slices import FileGroupId
from framework.plan.services.clean import (
    CleanFacts,
    CleanPolicy,
    KnownFile,
    check_needed,
    earliest_retained,
    plan_clean,
)

A, B = FileGroupId("p", "a"), FileGroupId("p", "b")


def facts(
    slices: dict[FileGroupId, list[str]],
    *,
    replaced: dict[FileGroupId, str] | None = None,
    held: frozenset[str] = frozenset(),
) -> CleanFacts:
    """Return a table with one file per slice; each slice is of a commit."""
    files = [
        KnownFile(group, instant, f"p/{group.file_id}-{instant}")
        for group, instants in slices.items()
        for instant in instants
    ]
    commits = sorted({each.instant for each in files} | set((replaced or {}).values()))
    return CleanFacts(
        commits=tuple(commits), files=tuple(files), replaced=replaced or {}, held=held
    )


def doomed(found: CleanFacts, policy: CleanPolicy, since: str = "") -> list[str]:
    """Return the paths that a policy deletes, which the audit accepts."""
    earliest = "" if policy.keep_versions else earliest_retained(found.commits, policy, since)
    files = plan_clean(found, policy, earliest)
    check_needed(found, files, earliest)
    return [each.path.removeprefix("p/") for each in files]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [(1, ["a-1", "a-2"]), (2, ["a-1"]), (3, ["a-1"]), (4, []), (5, []), (9, [])],
)
def test_clean_by_commits_keeps_the_slice_before_the_earliest(
    keep: int, expected: list[str]
) -> None:
    """Readers of the earliest retained commit may need it."""
    table = facts({A: ["1", "2", "4"], B: ["3", "5"]})
    assert doomed(table, CleanPolicy(keep_commits=keep)) == expected


@pytest.mark.parametrize(
    ("since", "expected"), [("1", []), ("3", ["a-1"]), ("4", ["a-1"]), ("9", ["a-1", "a-2"])]
)
def test_clean_by_hours_keeps_the_newest_commit_at_least(since: str, expected: list[str]) -> None:
    """The earliest retained commit is the first one since then, else the newest."""
    table = facts({A: ["1", "2", "4"], B: ["3", "5"]})
    assert doomed(table, CleanPolicy(keep_hours=1), since) == expected


@pytest.mark.parametrize(("keep", "expected"), [(1, ["a-1", "a-2", "b-3"]), (2, ["a-1"]), (3, [])])
def test_clean_by_versions_keeps_some_of_each_group(keep: int, expected: list[str]) -> None:
    """Whatever their age."""
    table = facts({A: ["1", "2", "4"], B: ["3", "5"]})
    assert doomed(table, CleanPolicy(keep_versions=keep)) == expected


def test_clean_of_a_replaced_group_waits_for_the_commits_before() -> None:
    """All its slices go once no retained commit is older than its replacement."""
    table = facts({A: ["1"], B: ["2", "4", "5"]}, replaced={A: "3"})
    assert doomed(table, CleanPolicy(keep_commits=3)) == []
    assert doomed(table, CleanPolicy(keep_commits=2)) == ["a-1"]
    assert doomed(table, CleanPolicy(keep_versions=3)) == ["a-1"]


def test_clean_keeps_whole_slices_under_a_savepoint() -> None:
    """Also their files that the savepoint does not name."""
    log = KnownFile(A, "1", "p/a-1-log")
    table = facts({A: ["1", "2", "3"]}, held=frozenset({"p/a-1"}))
    table = CleanFacts(
        commits=table.commits, files=(*table.files, log), replaced={}, held=table.held
    )
    assert doomed(table, CleanPolicy(keep_versions=1)) == ["a-2"]


@pytest.mark.parametrize(
    "given_numbers",
    [{}, {"keep_commits": 0}, {"keep_commits": 1, "keep_hours": 1}, {"keep_versions": -1}],
)
def test_clean_policy_that_is_none_or_several_is_refused(given_numbers: dict[str, int]) -> None:
    """A table is cleaned in one way."""
    with pytest.raises(PlanError) as refused:
        CleanPolicy(**given_numbers)
    assert refused.value.condition == "clean/policy"


@pytest.mark.parametrize("path", ["p/a-2", "p/a-1"])
def test_clean_audit_refuses_a_file_that_is_needed(path: str) -> None:
    """The latest slice as of the earliest retained commit, and one under a savepoint."""
    table = facts({A: ["1", "2"], B: ["3"]}, held=frozenset({"p/a-1"}))
    wrong = next(each for each in table.files if each.path == path)
    with pytest.raises(CorruptFileError) as refused:
        check_needed(table, [wrong], "3")
    assert refused.value.condition == "audit/file-needed"


@pytest.mark.property
@given(
    st.dictionaries(
        st.sampled_from([A, B, FileGroupId("q", "c")]), st.sets(st.integers(1, 9), min_size=1)
    ),
    st.integers(1, 9),
    st.dictionaries(st.sampled_from([A, B]), st.integers(1, 9)),
)
def test_clean_by_commits_of_any_table_keeps_what_retained_commits_read(
    slices: dict[FileGroupId, set[int]], keep: int, replaced: dict[FileGroupId, int]
) -> None:
    """As of each retained commit, the latest slice of each group is still there."""
    after = {g: str(n) for g, n in replaced.items() if n >= max(slices.get(g, {10}))}
    table = facts({g: [str(n) for n in sorted(ns)] for g, ns in slices.items()}, replaced=after)
    gone = set(doomed(table, CleanPolicy(keep_commits=keep)))
    for instant in table.commits[-keep:]:
        for group, instants in slices.items():
            seen = [str(n) for n in sorted(instants) if str(n) <= instant]
            if seen and after.get(group, "~") > instant:
                assert f"{group.file_id}-{seen[-1]}" not in gone
