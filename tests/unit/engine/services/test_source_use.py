"""Which source files are safe to delete, and which files still hold a key."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from framework.cli.options import JsonFormat
from framework.cli.source_files import delete_report_command as report_command
from framework.cli.source_files import safe_to_delete_command as safe_command
from framework.engine.inspect.status import table_status
from framework.engine.reading.table import open_table
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.key_holders import DeleteReport, delete_report
from framework.engine.services.materialize import observe_materialize, run_materialize
from framework.engine.services.savepoint import create_savepoint
from framework.engine.services.source_use import observe_sources
from framework.engine.tasks import InProcessTasks
from framework.plan.services.clustering import ClusterRequest
from framework.plan.services.source_use import SourceState
from tests.support.orders import Shop

pytestmark = pytest.mark.long

KINDS = ("copy_on_write", "merge_on_read")


@pytest.fixture(params=KINDS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return an adopted table with a skeleton in each of two partitions."""
    shop = Shop(tmp_path, str(request.param), adopts=True)
    shop.run()
    return shop


def states(shop: Shop) -> list[SourceState]:
    """Return the state of each source file, by partition."""
    return [each.state for each in observe_sources(open_table(str(shop.location)))]


def materialize(shop: Shop) -> None:
    """Materialize the table."""
    run_materialize(observe_materialize(str(shop.location)), InProcessTasks(1))


def clean(shop: Shop, day: str) -> None:
    """Remove the skeleton of a partition, as a clean would."""
    (skeleton,) = (shop.location / f"day={day}").glob("*_00000000000001.parquet")
    skeleton.unlink()


def test_source_is_safe_to_delete_once_its_skeleton_is_cleaned(shop: Shop) -> None:
    """Not before, since an older slice needs it until then."""
    assert states(shop) == [SourceState.LATEST, SourceState.LATEST]
    materialize(shop)
    assert states(shop) == [SourceState.OLDER, SourceState.OLDER]
    clean(shop, "d2")
    assert states(shop) == [SourceState.OLDER, SourceState.SAFE]
    rows = shop.rows()
    (shop.folder / "source" / "day=d2" / "a.parquet").unlink()
    assert shop.rows() == rows
    assert dangers(shop) == set()
    clean(shop, "d1")
    shutil.rmtree(shop.folder / "source")
    assert shop.rows() == rows
    assert dangers(shop) == set()


def test_source_that_is_deleted_too_early_is_a_danger(shop: Shop) -> None:
    """An older slice still needs it."""
    materialize(shop)
    (shop.folder / "source" / "day=d2" / "a.parquet").unlink()
    assert dangers(shop) == {"source/drifted"}
    shutil.rmtree(shop.folder / "source")
    assert dangers(shop) == {"source/drifted"}


def dangers(shop: Shop) -> set[str]:
    """Return the conditions that `status` reports."""
    return {each.condition for each in table_status(str(shop.location)).dangers}


def test_source_of_a_clustered_skeleton_is_safe_once_that_is_cleaned(shop: Shop) -> None:
    """The file group is replaced as a whole."""
    plan = observe_clustering(str(shop.location), ClusterRequest(by=("v",)))
    run_clustering(plan, InProcessTasks(1))
    assert states(shop) == [SourceState.OLDER, SourceState.OLDER]
    clean(shop, "d1")
    assert states(shop) == [SourceState.SAFE, SourceState.OLDER]


def test_source_held_by_a_savepoint_is_not_safe(shop: Shop) -> None:
    """Also where its skeleton is missing: a restore would need both."""
    create_savepoint(str(shop.location))
    materialize(shop)
    assert states(shop) == [SourceState.SAVEPOINT, SourceState.SAVEPOINT]
    clean(shop, "d1")
    assert states(shop) == [SourceState.SAVEPOINT, SourceState.SAVEPOINT]


def test_source_of_a_lost_skeleton_is_not_safe(shop: Shop) -> None:
    """Nothing shows that its rows are elsewhere."""
    clean(shop, "d1")
    assert states(shop) == [SourceState.UNKNOWN, SourceState.LATEST]


def test_source_of_a_table_that_was_not_adopted_is_none(tmp_path: Path) -> None:
    """It has no bootstrap index."""
    shop = Shop(tmp_path, "copy_on_write")
    shop.lands("one", ("a", "d1", 1))
    assert states(shop) == []


def report(shop: Shop, *keys: str) -> DeleteReport:
    """Return where keys are held."""
    return delete_report(open_table(str(shop.location)), keys, InProcessTasks(2))


def found(shop: Shop, *keys: str) -> list[tuple[str, str, bool, int, bool]]:
    """Return partition, state, whether there is a base file, logs, and whether a source."""
    return [
        (e.partition_path, e.state, bool(e.base_file), len(e.log_files), bool(e.source))
        for e in report(shop, *keys).slices
    ]


def test_delete_report_names_a_skeleton_with_its_source(shop: Shop) -> None:
    """And nothing for a key that is nowhere."""
    assert found(shop, "d1-1", "nobody") == [("day=d1", "latest", True, 0, True)]
    assert found(shop, "nobody") == []
    assert report(shop, "nobody").searched == 2
    (held,) = report(shop, "d1-1").slices
    assert held.source is not None
    assert held.source.endswith("source/day=d1/a.parquet")
    assert held.keys == ("d1-1",)


def test_delete_report_follows_a_record_through_deletion_and_clean(shop: Shop) -> None:
    """Old slices and log files count until they are removed."""
    create_savepoint(str(shop.location))
    shop.lands("one", ("d1-1", "d1", 5), ("other", "d1", 5))
    if shop.document["table"]["type"] == "merge_on_read":
        assert ("day=d1", "latest", True, 1, True) in found(shop, "d1-1")
        materialize(shop)
        assert found(shop, "d1-1")[0] == ("day=d1", "older", True, 1, True)
    assert ("day=d1", "latest", True, 0, False) in found(shop, "d1-1")
    assert report(shop, "d1-1").slices[0].savepoints != ()
    clean(shop, "d1")
    shutil.rmtree(shop.folder / "source" / "day=d1")
    assert not any(each[4] for each in found(shop, "d1-1"))


def test_delete_report_names_source_files_that_no_skeleton_leads_to(shop: Shop) -> None:
    """Their rows are still on the storage, and nothing in the table knows their keys."""
    materialize(shop)
    clean(shop, "d1")
    (left,) = report(shop, "d1-1").unsearched
    assert left.endswith("source/day=d1/a.parquet")
    Path(left.removeprefix("file:")).unlink()
    assert report(shop, "d1-1").unsearched == ()


def test_delete_report_finds_replaced_and_rolled_back_rows(shop: Shop) -> None:
    """A replaced group is kept until it is cleaned; a torn log file may hold any key."""
    shop.lands("one", ("d1-1", "d1", 5))
    if shop.document["table"]["type"] == "merge_on_read":
        (log,) = (shop.location / "day=d1").glob(".*.log.*")
        log.write_bytes(log.read_bytes() + b"#HUDI#torn")
        (torn,) = report(shop, "nobody").torn
        assert torn.endswith(log.name)
        log.write_bytes(log.read_bytes()[: -len(b"#HUDI#torn")])
    plan = observe_clustering(str(shop.location), ClusterRequest(by=("v",)))
    run_clustering(plan, InProcessTasks(1))
    states_found = [each[1] for each in found(shop, "d1-1")]
    assert sorted(set(states_found)) == ["latest", "replaced"]


def document_of(capsys: pytest.CaptureFixture[str]) -> Mapping[str, object]:
    """Return the JSON on stdout."""
    parsed: Mapping[str, object] = json.loads(capsys.readouterr().out)
    return parsed


def test_commands_print_text_and_json(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Results on stdout, sums on stderr."""
    place = str(shop.location)
    materialize(shop)
    clean(shop, "d2")
    assert safe_command(place) == 0
    shown = capsys.readouterr()
    assert shown.out.strip().endswith("source/day=d2/a.parquet")
    assert "1 source file safe to delete" in shown.err
    assert "1 needed by slices that clean has not removed" in shown.err
    assert safe_command(place, form=JsonFormat.JSON) == 0
    kept = {"latest": 0, "older": 1, "savepoint": 0, "unknown": 0}
    assert document_of(capsys)["kept"] == kept
    assert report_command(place, ["d1-1"]) == 0
    shown = capsys.readouterr()
    assert "(older): d1-1" in shown.out
    assert "2 slices and 1 source file hold a key" in shown.err
    assert report_command(place, ["d1-1"], form=JsonFormat.JSON) == 0
    assert len(list(document_of(capsys)["slices"])) == 2  # type: ignore[call-overload]  # a list
