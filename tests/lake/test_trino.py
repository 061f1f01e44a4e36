"""Trino reads tables by name that our sync has registered in a Hive Metastore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.catalog_shops import KINDS, a_shop, synced
from tests.interop.metastore import metastore
from tests.support.trino import Trino, missing_maven, running_trino

pytestmark = [pytest.mark.lake, pytest.mark.interop, pytest.mark.timeout(1800)]

_FOLDERS = {"d 2:%": "d 2%3A%25"}
"""The text that Trino shows for a partition's value: that of its folder."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a metastore."""
    with metastore(tmp_path_factory.mktemp("metastore")) as found:
        yield found


@pytest.fixture(scope="module")
def trino(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    """A server whose catalogs are of the metastore."""
    reason = missing_maven()
    if reason is not None:
        pytest.skip(reason)
    with running_trino(tmp_path_factory.mktemp("trino"), address) as found:
        yield found


@pytest.mark.parametrize("name", list(KINDS))
def test_trino_reads_data_columns_as_the_reader_gate_says(
    trino: Trino, address: str, tmp_path: Path, name: str
) -> None:
    """Of merge-on-read tables the base files alone; values of partitions as in their folders."""
    shop = a_shop(tmp_path, name)
    assert synced(shop, address, name)
    shown = trino.query(f"SELECT id, day, v FROM hudi.lake.{name} ORDER BY id")  # noqa: S608 - our own names
    rows = [(id_, _FOLDERS.get(day, day), v) for id_, day, v in shop.rows()]
    if "mor" in name:
        assert rows[0] == ("a", "d1", 2)
        rows[0] = ("a", "d1", 1)  # the update is in a log file
    assert shown == rows
    filtered = f"SELECT id FROM hudi.lake.{name} WHERE day = 'd1' ORDER BY id"  # noqa: S608 - our own names
    assert [id_ for (id_,) in trino.query(filtered)] == [r[0] for r in rows if r[1] == "d1"]


def test_trino_reads_null_in_meta_columns_of_skeletons_alone(
    trino: Trino, address: str, tmp_path: Path
) -> None:
    """Rows that a load has written have theirs."""
    shop = a_shop(tmp_path, "adopted")
    shop.document["table"]["name"] = "lake.again"
    assert synced(shop, address, "again")
    meta = "SELECT id, _hoodie_record_key, _hoodie_commit_time FROM hudi.lake.again"
    found = {id_: (key, time) for id_, key, time in trino.query(meta)}
    assert found["d2-1"] == (None, None)
    assert found["c"][0] == "c"
    assert found["c"][1] is not None
