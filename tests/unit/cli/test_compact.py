"""`run-pipeline compact`: which plan it shows, and what its options choose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from framework.cli.compact import command
from framework.cli.options import JsonFormat
from framework.cli.services import service_tasks
from framework.engine.inspect.status import table_status
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from tests.support.orders import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a merge-on-read table with a log file in each of two partitions."""
    shop = Shop(tmp_path, "merge_on_read")
    shop.lands("one", ("a", "d1", 1), ("b", "d2", 1))
    shop.lands("two", ("a", "d1", 2), ("b", "d2", 2))
    return shop


def printed(capsys: pytest.CaptureFixture[str], shop: Shop, **options: Any) -> dict[str, Any]:
    """Return the JSON that the command prints."""
    assert command(str(shop.location), form=JsonFormat.JSON, **options) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_compact_schedules_and_then_executes_the_plan(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text names the pending compaction and who planned it."""
    place = str(shop.location)
    scheduled = printed(capsys, shop, schedule=True)["scheduled"]
    assert f"compaction {scheduled} is planned" in table_status(place).pending
    assert command(place, dry_run=True) == 0
    shown = capsys.readouterr().out
    assert f"pending compaction {scheduled} of Lakestrap: 2 slices, 2 log files" in shown
    document = printed(capsys, shop)
    assert (document["completed"], document["files"]) == (scheduled, 2)
    assert document["pending"]["planned_by"] == "Lakestrap"
    assert printed(capsys, shop)["pending"] is None
    assert table_status(place).pending == ""


def test_compact_schedule_says_what_executes_it(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second one has nothing left to plan."""
    assert command(str(shop.location), schedule=True) == 0
    assert "scheduled; `run-pipeline compact` executes it" in capsys.readouterr().out
    assert command(str(shop.location), schedule=True) == 0
    assert "no log files to compact" in capsys.readouterr().out


def test_compact_options_choose_slices(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """By the size of log files, and by partition."""
    assert len(printed(capsys, shop, dry_run=True, log_size="1")["slices"]) == 2
    assert printed(capsys, shop, dry_run=True, log_size="1MB")["slices"] == []
    (found,) = printed(capsys, shop, dry_run=True, partition=["day=d2"])["slices"]
    assert found["partition"] == "day=d2"


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({"log_size": "much"}, "usage/bad-value"),
        ({"schedule": True, "retry": True}, "usage/not-together"),
    ],
)
def test_compact_refuses_options_that_make_no_sense(
    shop: Shop, options: dict[str, Any], condition: str
) -> None:
    """Nothing is changed."""
    with pytest.raises(FrameworkError) as refused:
        command(str(shop.location), **options)
    assert refused.value.condition == condition


def test_service_tasks_without_options_are_of_this_process() -> None:
    """No Spark is started."""
    with service_tasks(None, {}) as tasks:
        assert isinstance(tasks(), InProcessTasks)
