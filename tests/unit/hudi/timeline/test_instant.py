"""Instants and the names of their files."""

from __future__ import annotations

import pytest

from framework.errors import UnsupportedTableError
from framework.hudi.timeline.instant import Action, Instant, InstantState

TIME = "20260307162434124"


def legal() -> list[Instant]:
    """Return one instant of every legal action and state."""
    found = []
    for action in Action:
        for state in InstantState:
            try:
                found.append(Instant(requested_time=TIME, action=action, state=state))
            except UnsupportedTableError:
                continue
    return found


@pytest.mark.parametrize("instant", legal(), ids=lambda each: each.file_name)
def test_instant_printed_parses_back(instant: Instant) -> None:
    """Every legal instant has a name of its own, and the name means it alone."""
    assert Instant.parse(instant.file_name) == instant
    assert instant.path == f".hoodie/{instant.file_name}"


def test_instant_names_are_those_of_layout_1() -> None:
    """The table of the format sheet, section 2.2, with its irregular entries."""
    names = {each.file_name.removeprefix(f"{TIME}.") for each in legal()}
    regular = {
        f"{action}.{state}"
        for action in set(Action) - {Action.COMMIT, Action.SAVEPOINT}
        for state in ("requested", "inflight")
    }
    completed = {str(each) for each in set(Action) - {Action.COMPACTION, Action.LOGCOMPACTION}}
    assert names == regular | completed | {"commit.requested", "inflight", "savepoint.inflight"}


@pytest.mark.parametrize(
    ("action", "state"),
    [
        (Action.COMPACTION, InstantState.COMPLETED),
        (Action.LOGCOMPACTION, InstantState.COMPLETED),
        (Action.SAVEPOINT, InstantState.REQUESTED),
    ],
)
def test_instant_without_a_file_name_is_refused(action: Action, state: InstantState) -> None:
    """A completed compaction is a commit, and savepoints are never requested."""
    with pytest.raises(UnsupportedTableError) as caught:
        Instant(requested_time=TIME, action=action, state=state)
    assert caught.value.condition == "timeline/illegal-state"


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.properties",
        f"{TIME}.commit.completed",
        f"{TIME}.commit.inflight",
        f"{TIME}.compaction",
        f"{TIME}.unknown",
        f"{TIME}_{TIME}.commit",
        f"{TIME}0.commit",
        f".{TIME}.commit.crc",
        f"{TIME}.commit.requested.crc",
        "",
    ],
)
def test_other_file_names_are_no_instants(name: str) -> None:
    """Neither sidecars nor names of other layouts are taken for instants."""
    assert Instant.parse(name) is None


def test_instants_of_different_length_compare_as_text() -> None:
    """The 14-digit bootstrap instant sorts before everything, as in Apache Hudi."""
    first, later = (
        Instant(requested_time=time, action=Action.COMMIT, state=InstantState.COMPLETED)
        for time in ("00000000000001", TIME)
    )
    assert first < later
