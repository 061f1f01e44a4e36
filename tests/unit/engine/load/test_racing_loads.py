"""Processes that load into one table at the same moment: all of it arrives, each row once."""

from __future__ import annotations

import multiprocessing
import random
import time
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from framework.errors import RetryableError
from framework.hudi.commit.lease import current_lease
from framework.hudi.storage.locations import open_storage
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.support.writing import Lake, load, rows_of

pytestmark = pytest.mark.long

FORK = multiprocessing.get_context("fork")
RACERS = 3
LOADS = 6
OWN = 4
SHARED = 5


def rows(racer: int, number: int) -> list[dict[str, Any]]:
    """Return rows of one load: some that no other has, and some that all write."""
    first = 1_000 + (racer * LOADS + number) * OWN
    keys = [*range(first, first + OWN), *range(SHARED)]
    day = "ab"[number % 2]
    return [{"id": key, "day": day, "ts": number, "v": f"{racer}.{number}"} for key in keys]


def race(lake: Lake, racer: int, barrier: Barrier, outcomes: Path) -> None:
    """Load one after the other, repeating each while the error is retryable."""
    draw = random.Random(racer)
    own = replace(lake, folder=lake.folder / f"racer-{racer}", at=lake.location)
    own.folder.mkdir()
    barrier.wait()
    refused = 0
    for number in range(LOADS):
        while True:
            try:
                load(own, WriteOperation.UPSERT, rows(racer, number))
                break
            except RetryableError:
                refused += 1
                time.sleep(draw.uniform(0, 0.02))
    (outcomes / f"{racer}-{refused}").touch()


@pytest.mark.parametrize("kind", TableType)
def test_loads_at_once_all_arrive_and_each_row_once(tmp_path: Path, kind: TableType) -> None:
    """Three processes, six loads each, with keys that all of them write and that move about."""
    outcomes = tmp_path / "outcomes"
    outcomes.mkdir()
    lake = Lake(folder=tmp_path, scope=KeyScope.TABLE, type=kind, ordering="ts")
    load(lake, WriteOperation.INSERT, [{"id": 0, "day": "a", "ts": -1, "v": "first"}])
    barrier = FORK.Barrier(RACERS)
    racers = [
        FORK.Process(target=race, args=(lake, number, barrier, outcomes))
        for number in range(RACERS)
    ]
    for each in racers:
        each.start()
    for each in racers:
        each.join()
    assert [each.exitcode for each in racers] == [0] * RACERS
    refused = [int(path.name.partition("-")[2]) for path in outcomes.iterdir()]
    assert len(refused) == RACERS
    assert sum(refused) > 0, "they never met"
    found = rows_of(lake.location)
    keys = sorted(row["id"] for row in found)
    own = [row["id"] for racer in range(RACERS) for n in range(LOADS) for row in rows(racer, n)]
    assert keys == sorted(set(own))
    last = [row for row in found if row["id"] < SHARED]
    assert {row["ts"] for row in last} == {LOADS - 1}
    assert current_lease(open_storage(lake.location)) is None
