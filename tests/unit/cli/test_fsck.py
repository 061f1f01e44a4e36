"""The command `fsck`: its exit code, its text, its JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from framework.cli.fsck import command
from framework.cli.options import JsonFormat
from framework.engine.fsck.document import fsck_schema
from framework.engine.fsck.findings import Repair
from tests.support.orders import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a table of two loads."""
    shop = Shop(tmp_path, "copy_on_write")
    shop.lands("one", ("a", "d1", 1))
    shop.lands("two", ("b", "d2", 2))
    return shop


def fits(document: dict[str, object]) -> None:
    """Fail unless a document fits the published schema."""
    jsonschema.Draft202012Validator(fsck_schema()).validate(document)


def test_clean_table_exits_with_0(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """And says how much was checked."""
    assert command(str(shop.location), deep=True) == 0
    text = capsys.readouterr().out
    assert f"{shop.location}: clean" in text
    assert "2 instants, 2 partitions, 2 files" in text
    assert "2 rows, 2 keys" in text


def test_findings_exit_with_1_and_name_place_and_remedy(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """In text for people, in JSON for tools."""
    lost = next(shop.location.glob("day=d1/*.parquet"))
    lost.unlink()
    assert command(str(shop.location)) == 1
    text = capsys.readouterr().out
    assert "1 error" in text
    assert "error [table/file-lost]: a recorded base file is missing" in text
    assert lost.name in text
    assert command(str(shop.location), form=JsonFormat.JSON) == 1
    document = json.loads(capsys.readouterr().out)
    fits(document)
    assert document["clean"] is False
    (finding,) = document["findings"]
    assert finding["file"] == str(lost.relative_to(shop.location))
    assert (finding["check"], finding["severity"]) == ("files", "error")
    assert (finding["partition"], finding["repair"]) == ("day=d1", None)


def test_repair_prints_each_file_and_checks_again(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0 where nothing is left."""
    base = next(shop.location.glob("day=d1/*.parquet"))
    instant = base.name.rpartition("_")[2].split(".")[0]
    orphan = f"{'a' * 8}-0_0-0-0_{int(instant) + 1}.parquet"
    shutil.copy(base, base.parent / orphan)
    assert command(str(shop.location)) == 1
    capsys.readouterr()
    assert command(str(shop.location), repair=[Repair.ORPHANS]) == 0
    assert f"orphans: deleted day=d1/{orphan}" in capsys.readouterr().out
    shutil.copy(base, base.parent / orphan)
    assert command(str(shop.location), repair=[Repair.ORPHANS], form=JsonFormat.JSON) == 0
    document = json.loads(capsys.readouterr().out)
    fits(document)
    (repaired,) = document["repaired"]
    assert (repaired["repair"], repaired["done"]) == ("orphans", "deleted")
