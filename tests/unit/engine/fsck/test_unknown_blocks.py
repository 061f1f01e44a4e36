"""Log blocks of instants that nothing knows are reported; those of rollbacks are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.engine.fsck.table_check import check_table
from framework.engine.tasks import InProcessTasks
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, encode_block
from framework.hudi.filegroup.slices import LogFileName
from tests.support.orders import Shop

UNKNOWN = "99990101000000000"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a table with a log file, to which a writer appended that left no instant."""
    shop = Shop(tmp_path, "merge_on_read")
    shop.lands("1", ("a", "d1", 1))
    shop.lands("2", ("a", "d1", 2))
    block = {HeaderKey.INSTANT_TIME: UNKNOWN, HeaderKey.SCHEMA: '"string"'}
    log = log_of(shop)
    log.write_bytes(log.read_bytes() + encode_block(BlockKind.DELETE, block, b""))
    return shop


def log_of(shop: Shop) -> Path:
    """Return the first log file."""
    return min(shop.location.glob("day=d1/.*.log.*"))


def found(shop: Shop) -> list[tuple[str, str, str]]:
    """Return condition, file and instant of each finding."""
    report = check_table(str(shop.location), InProcessTasks(1), deep=True)
    return [(each.condition, each.file, each.instant) for each in report.findings]


def test_block_of_an_unknown_instant_is_reported_with_its_file(shop: Shop) -> None:
    """By a deep check; the rows are right now."""
    path = str(log_of(shop).relative_to(shop.location))
    assert found(shop) == [("fsck/unknown-block", path, UNKNOWN)]
    assert check_table(str(shop.location), InProcessTasks(1)).findings == ()
    assert shop.rows() == [("a", "d1", 2)]


def test_block_that_a_rollback_block_takes_back_is_not_reported(shop: Shop) -> None:
    """It never counts; the file of the rollback block is an orphan here, for want of a rollback."""
    name = LogFileName.parse(log_of(shop).name)
    assert name is not None
    header = {
        HeaderKey.INSTANT_TIME: "99990101000000001",
        HeaderKey.TARGET_INSTANT_TIME: UNKNOWN,
        HeaderKey.COMMAND_BLOCK_TYPE: "0",
    }
    log = LogFileName(file_id=name.file_id, base_instant=name.base_instant, version=9)
    (shop.location / "day=d1" / str(log)).write_bytes(encode_block(BlockKind.COMMAND, header, b""))
    assert "fsck/unknown-block" not in {condition for condition, _, _ in found(shop)}
