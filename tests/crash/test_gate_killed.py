"""Runs killed at their gate: quarantined rows belong to an existing commit, or are removed."""

from __future__ import annotations

import signal
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.engine.quarantine.datasets import waiting
from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.timeline import load_timeline
from framework.spark import run
from tests.crash.gate_run import POINTS
from tests.support.checks import Gate, good_rows, quarantined_in
from tests.support.lakes import leftovers
from tests.support.scenes import snapshot
from tests.support.started import started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.crash]

PROGRAM = Path(__file__).with_name("gate_run.py")
QUICK = {
    ("metadata_only", "named"),
    ("upsert", "finding"),
}
AIMS = list(product(("metadata_only", "upsert"), POINTS))
CHECKS = (
    {"name": "positive", "expect": "amount >= 0", "on_fail": "quarantine"},
    {"name": "wanted", "expect": "id <> 13", "on_fail": "drop"},
)
BAD = [12, 25]


def a_gate(folder: Path, operation: str) -> Gate:
    """Return a gate before two files with a bad row each; of a load two keys are there."""
    gate = Gate(folder=folder, operation=operation)
    gate.begin()
    gate.put("one", good_rows(range(8, 20), bad=BAD))
    gate.put("two", good_rows(range(20, 30), bad=BAD))
    return gate


def new_rows(gate: Gate) -> dict[int, float]:
    """Return the amounts of the table after the run."""
    there = {} if gate.is_bootstrap else range(10)
    return {n: n for n in [*there, *range(10 - 2 * gate.is_bootstrap, 30)] if n not in {*BAD, 13}}


def left_over(gate: Gate) -> list[str]:
    """Return what of the run's own is left beside the table and its quarantined rows."""
    own = leftovers(gate.location)
    hidden = list(gate.quarantine.glob(".*")) if gate.quarantine.exists() else []
    return [str(path.relative_to(gate.folder)) for path in (*own, *hidden)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("operation", "point"),
    [pytest.param(*aim, marks=[] if aim in QUICK else pytest.mark.full) for aim in AIMS],
)
def test_run_that_dies_at_its_gate_leaves_old_rows_or_new_ones_with_what_was_quarantined(
    spark: SparkSession, tmp_path: Path, operation: str, point: str
) -> None:
    """The next run, at once, ends the job; whatever the dead one still writes, nothing stays."""
    gate = a_gate(tmp_path / "gate", operation)
    spec, source = gate.spec(*CHECKS), snapshot(gate.source)
    storage = open_storage(str(gate.location))
    commits = len(load_timeline(storage).completed)
    command = [sys.executable, str(PROGRAM), str(spec), point]
    with started(command, tmp_path / "dead") as dead:
        ended = dead.end()
        assert ended.code == -signal.SIGKILL, ended.err
        is_there = len(load_timeline(storage).completed) > commits
        assert is_there == (point == "published")
        found = waiting(str(gate.location), str(gate.quarantine))
        assert [each.rows for each in found] == ([len(BAD)] if is_there else [])
        run(spark, spec)
        check_whole(spark, gate)
        dead.wait_for_all()
    check_whole(spark, gate)
    assert snapshot(gate.source) == source
    assert run(spark, spec).instant is None


def check_whole(spark: SparkSession, gate: Gate) -> None:
    """The new rows are there, the bad ones are quarantined once, and nothing else is left."""
    assert gate.amounts(spark) == new_rows(gate)
    assert sorted(row["id"] for row in quarantined_in(gate.quarantine)) == BAD
    (found,) = waiting(str(gate.location), str(gate.quarantine))
    storage = open_storage(str(gate.location))
    assert found.instant == load_timeline(storage).completed[-1].requested_time
    assert find_pending(storage) is None
    assert left_over(gate) == []
