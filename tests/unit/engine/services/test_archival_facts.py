"""What an archival learns of a timeline that Apache Hudi wrote."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from framework.engine.services.archival_facts import observe_facts
from framework.hudi.codecs.avro import read_container
from framework.hudi.storage.local import LocalStorage
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.instant import Action, Instant
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalFacts, ArchivalLimits

GOLDEN = Path(__file__).parents[3] / "golden" / "archived_services"
LIMITS = ArchivalLimits(keep_min=2, keep_max=3)


@pytest.fixture(params=["copy_on_write-1.2.0", "merge_on_read-0.15.0"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LocalStorage:
    """Return a table with the golden timeline, and with no file of data."""
    with tarfile.open(GOLDEN / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "before").rename(tmp_path / ".hoodie")
    return LocalStorage(str(tmp_path))


def facts_of(table: LocalStorage) -> ArchivalFacts:
    """Return the facts for a plan."""
    properties = read_properties(table)
    assert properties is not None
    return observe_facts(table, properties, load_timeline(table), LIMITS)


def replacecommit(table: LocalStorage) -> Instant:
    """Return the first replacecommit."""
    done = load_timeline(table).completed
    return next(each for each in done if each.action is Action.REPLACECOMMIT)


def test_newest_clean_says_what_it_retained(table: LocalStorage) -> None:
    """As it is in its metadata."""
    cleans = [e for e in load_timeline(table).completed if e.action is Action.CLEAN]
    with table.open_input(cleans[-1].path) as source:
        record = read_container(bytes(source.read()))
    assert facts_of(table).retained == record["earliestCommitToRetain"]


def test_replacecommit_is_named_while_a_replaced_file_is_there(table: LocalStorage) -> None:
    """A base file or a log file of one of its groups."""
    assert facts_of(table).replacing == frozenset()
    instant = replacecommit(table)
    ((partition, ids),) = read_commit_body(table, instant.path).replaced.items()
    folder = Path(table.location) / partition
    folder.mkdir()
    for name in (f"{min(ids)}_0-0-0_2026.parquet", f".{min(ids)}_2026.log.1_0-0-0"):
        (folder / name).write_bytes(b"")
        assert facts_of(table).replacing == {instant.requested_time}
        (folder / name).unlink()


def test_active_instants_that_are_archived_are_found(table: LocalStorage) -> None:
    """The newest file comes first, and only files before one without any are not read."""
    root = Path(table.location)
    active = {(each.requested_time, each.action) for each in load_timeline(table).completed}
    assert facts_of(table).archived == frozenset()
    names = sorted(path.name for path in (root / "after").iterdir())
    (root / ".hoodie/archived").mkdir()
    shutil.copy(root / "after" / names[0], root / ".hoodie/archived" / names[0])
    found = facts_of(table).archived
    assert found
    assert found < active
    newest = root / ".hoodie/archived/.commits_.archive.9_1-0-1"
    newest.write_bytes(b"")
    assert facts_of(table).archived == frozenset()
