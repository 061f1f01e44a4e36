"""Whatever happens to a table, the view that follows it answers as a listing does."""

from __future__ import annotations

import pytest

from tests.support.view_model import ACTIONS, Lab

PLAYS = 10_000
SHARDS = 20
QUICK_PLAYS = 200


def play_all(lab: Lab, seeds: range) -> None:
    """Play all, and see that everything happened, and that views rarely had to begin anew."""
    for seed in seeds:
        lab.play(seed)
    missing = {name for name in ACTIONS if not lab.done[name]}
    assert not missing
    assert lab.disturbed < lab.plays / 2


def test_view_that_follows_a_table_answers_as_a_listing_does() -> None:
    """After each of some random lives, to questions of every kind."""
    play_all(Lab(), range(QUICK_PLAYS))


@pytest.mark.long
@pytest.mark.parametrize("shard", range(SHARDS))
def test_view_that_follows_many_tables_answers_as_a_listing_does(shard: int) -> None:
    """After each of very many random lives, to questions of every kind."""
    size = PLAYS // SHARDS
    play_all(Lab(), range(QUICK_PLAYS + shard * size, QUICK_PLAYS + (shard + 1) * size))
