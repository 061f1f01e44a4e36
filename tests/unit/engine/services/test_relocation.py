"""A source that was moved: the table names its new location, or nothing changes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from framework.cli.options import JsonFormat
from framework.cli.source_files import relocate_command
from framework.engine.fsck.table_check import check_table
from framework.engine.inspect.status import table_status
from framework.engine.reading.table import open_table
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.relocation import observe_relocation, run_relocation
from framework.engine.services.source_use import observe_sources
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.table.properties import read_properties
from framework.plan.services.clean import CleanPolicy
from tests.support.orders import Shop

pytestmark = pytest.mark.long

TASKS = InProcessTasks(1)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a table with a skeleton that a clean deleted, and one that is needed."""
    shop = Shop(tmp_path, "copy_on_write", adopts=True)
    shop.run()
    shop.lands("1", ("d1-1", "d1", 1))
    run_clean(observe_clean(str(shop.location), CleanPolicy(keep_versions=1)))
    return shop


def moved(shop: Shop) -> Path:
    """Move the source and return its new place."""
    return (shop.folder / "source").rename(shop.folder / "elsewhere")


def relocate(shop: Shop, place: Path, storage: Storage | None = None) -> None:
    """Relocate the source."""
    plan = observe_relocation(str(shop.location), str(place), TASKS)
    run_relocation(plan, TASKS, storage=storage)


def refusal(attempt: Callable[[], object]) -> FrameworkError:
    """Return the error of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value


def test_relocated_table_reads_its_source_at_the_new_place(shop: Shop) -> None:
    """All checks agree, and loads of the changed spec continue; a new file there is seen."""
    before = shop.rows()
    place = moved(shop)
    relocate(shop, place)
    assert shop.rows() == before
    status = table_status(str(shop.location))
    assert (status.source, status.dangers) == (str(place), ())
    assert check_table(str(shop.location), TASKS, deep=True).findings == ()
    uses = observe_sources(open_table(str(shop.location)))
    assert {each.uri.split("/day=")[0] for each in uses} == {f"file://{place}"}
    properties = read_properties(LocalStorage(str(shop.location)))
    assert properties is not None
    assert properties.bootstrap_base_path == f"file://{place}"
    shop.document["bootstrap"]["path"] = str(place)
    shop.lands("2", ("d2-1", "d2", 2))
    assert ("d2-1", "d2", 2) in shop.rows()
    assert table_status(str(shop.location)).source == str(place)


def test_relocation_that_is_done_changes_nothing(shop: Shop) -> None:
    """Also not the bytes of the index."""
    place = moved(shop)
    relocate(shop, place)
    before = shop.tree()
    relocate(shop, place)
    assert shop.tree() == before


def test_relocation_back_and_forth_ends_at_the_last_place(shop: Shop) -> None:
    """Each is a relocation like the first."""
    place = moved(shop)
    relocate(shop, place)
    place.rename(shop.folder / "source")
    relocate(shop, shop.folder / "source")
    assert table_status(str(shop.location)).source == str(shop.folder / "source")
    assert check_table(str(shop.location), TASKS, deep=True).findings == ()


def missing(file: Path) -> None:
    """Delete a file."""
    file.unlink()


def touched(file: Path) -> None:
    """Give a file another time."""
    os.utime(file, ns=(1, 10**18))


def other_footer(file: Path) -> None:
    """Change a byte of a file's footer, and keep its time."""
    times, data = file.stat(), bytearray(file.read_bytes())
    data[-40] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def other_size(file: Path) -> None:
    """Add a byte to a file, and keep its time."""
    times = file.stat()
    file.write_bytes(file.read_bytes() + b"x")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("damage", [missing, touched, other_size, other_footer])
def test_relocation_to_other_files_is_refused_and_names_one(
    shop: Shop, damage: Callable[[Path], None]
) -> None:
    """Nothing is changed."""
    place = shutil.copytree(shop.folder / "source", shop.folder / "elsewhere")
    damage(place / "day=d2/a.parquet")
    before = shop.tree()
    error = refusal(lambda: relocate(shop, place))
    assert error.condition == "relocate/differs"
    assert error.where.file is not None
    assert error.where.file.endswith("elsewhere/day=d2/a.parquet")
    assert shop.tree() == before


def test_relocation_needs_only_the_files_of_skeletons(shop: Shop) -> None:
    """The source of a skeleton that a clean deleted may be missing."""
    (shop.folder / "source/day=d1/a.parquet").unlink()
    relocate(shop, moved(shop))
    assert table_status(str(shop.location)).dangers == ()


def test_relocation_beside_a_pending_instant_is_refused(shop: Shop) -> None:
    """Its plan may name the old place."""
    (shop.location / ".hoodie/99990101000000000.commit.requested").write_bytes(b"")
    place = moved(shop)
    assert refusal(lambda: relocate(shop, place)).condition == "relocate/pending"


def test_relocation_of_a_table_without_index_is_refused(tmp_path: Path) -> None:
    """It needs no source."""
    shop = Shop(tmp_path, "copy_on_write")
    shop.lands("1", ("a", "d1", 1))
    assert refusal(lambda: relocate(shop, tmp_path)).condition == "relocate/no-index"


def test_unreadable_record_of_a_relocation_is_refused(shop: Shop) -> None:
    """By name, and with a remedy."""
    record = shop.location / ".hoodie/.lakestrap/state/relocated.json"
    record.write_bytes(b"[]")
    assert refusal(lambda: table_status(str(shop.location))).condition == "relocate/not-readable"


def test_command_shows_its_plan_and_relocates(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --dry-run nothing changes."""
    place = moved(shop)
    before = shop.tree()
    assert relocate_command(str(shop.location), str(place), dry_run=True, form=JsonFormat.JSON) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["files"], document["to"], document["completed"]) == (1, str(place), False)
    assert shop.tree() == before
    assert relocate_command(str(shop.location), str(place)) == 0
    assert f"the source of the table is {place}" in capsys.readouterr().out
    assert relocate_command(str(shop.location), str(place)) == 0
    assert "already" in capsys.readouterr().out


@pytest.mark.long
def test_relocation_killed_at_any_call_is_finished_by_the_next(shop: Shop, tmp_path: Path) -> None:
    """With both places there, rows can be read at any time; nothing is left behind."""
    before, step, place = shop.rows(), 0, tmp_path / "elsewhere"
    shutil.copytree(shop.folder / "source", place)
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, partial(relocate, survivor, place)):
            break
        assert survivor.rows() == before, step
        survivor.recover()
        assert survivor.rows() == before, step
        relocate(survivor, place)
        assert survivor.rows() == before, step
        assert table_status(str(survivor.location)).source == str(place)
        assert check_table(str(survivor.location), TASKS).findings == ()
        assert find_pending(LocalStorage(str(survivor.location))) is None
        shutil.rmtree(survivor.location)
    assert step > 15
