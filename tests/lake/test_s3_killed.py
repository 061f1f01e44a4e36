"""Runs that are killed on S3, and runs whose store is killed, leave the old table or the new."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lake.killed_run import live_until_killed
from tests.support.versity import Versity

pytestmark = [pytest.mark.lake, pytest.mark.timeout(3600)]

_KINDS = pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
_MODES = pytest.mark.parametrize("mode", ["metadata_only", "full_record", "mixed"])


@_KINDS
@_MODES
def test_run_killed_at_any_time_leaves_the_old_table_or_the_new_one(
    kind: str, mode: str, bucket: str, tmp_path: Path
) -> None:
    """Also while it recovers from the kill before; in the end the table is whole, by fsck."""
    root = f"s3a://{bucket}"
    lives = live_until_killed(12, root=root, folder=tmp_path, kind=kind, mode=mode)
    assert lives.amid >= 3


@_KINDS
@_MODES
def test_run_whose_store_is_killed_ends_with_the_old_table_or_the_new_one(
    kind: str, mode: str, bucket: str, tmp_path: Path, versity: Versity
) -> None:
    """Whether the run outlives it or gives up; the store starts again on the same disk."""
    root, before = f"s3a://{bucket}", versity.kills
    lives = live_until_killed(6, root=root, folder=tmp_path, kind=kind, mode=mode, store=versity)
    assert versity.kills - before >= lives.kills
    assert lives.amid >= 1
