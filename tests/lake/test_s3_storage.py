"""A server of S3 with a disk keeps the port's promises, and only one of many writers wins."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import StorageError
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage, uploads_of
from tests.support.storage_suite import ObjectSuite, condition_of, put, read
from tests.support.versity import Versity

pytestmark = pytest.mark.lake


class TestS3Storage(ObjectSuite):
    """The suite over a folder of a bucket."""

    @pytest.fixture
    def storage(self, bucket: str) -> Storage:
        """Return an empty storage below a prefix."""
        return open_storage(f"s3://{bucket}/a/lake")


def test_large_file_is_read_by_ranges(bucket: str) -> None:
    """Parquet comes back, by columns and row groups, through pyarrow."""
    storage = open_storage(f"s3a://{bucket}/x")
    rows = pa.table({"a": list(range(300_000)), "b": [f"{n:>40}" for n in range(300_000)]})
    with storage.create("d/f.parquet") as out:
        pq.write_table(rows, out, compression="none", use_dictionary=False, row_group_size=50_000)
    with storage.open_input("d/f.parquet") as source:
        parquet = pq.ParquetFile(source)
        assert parquet.read_row_group(3, ["a"])["a"].to_pylist() == list(range(150_000, 200_000))
        assert parquet.read() == rows


def test_upload_that_was_aborted_is_never_completed(bucket: str, versity: Versity) -> None:
    """The fence of ADR 0049: neither before nor after the server's death."""
    storage = open_storage(f"s3a://{bucket}/x")
    uploads = uploads_of(storage)
    assert uploads is not None
    upload = uploads.begin("a", b"1")
    assert storage.stat("a") is None
    uploads.abort("a", upload)
    assert condition_of(lambda: uploads.complete("a", upload)) == "storage/not-found"
    versity.kill()
    versity.start()
    assert condition_of(lambda: uploads.complete("a", upload)) == "storage/not-found"
    assert storage.stat("a") is None


def test_upload_is_completed_only_where_the_name_is_free(bucket: str, versity: Versity) -> None:
    """Also if the server was killed in between; the loser stays without a name."""
    storage = open_storage(f"s3a://{bucket}/x")
    uploads = uploads_of(storage)
    assert uploads is not None
    first, second = uploads.begin("a", b"1"), uploads.begin("a", b"2")
    versity.kill()
    versity.start()
    uploads.complete("a", first)
    assert condition_of(lambda: uploads.complete("a", second)) == "storage/exists"
    assert read(storage, "a") == b"1"


def test_objects_are_there_after_the_server_was_killed(bucket: str, versity: Versity) -> None:
    """What was acknowledged stays, and so does the refusal of taken names."""
    storage = open_storage(f"s3a://{bucket}/x")
    put(storage, "d/f", b"1")
    versity.kill()
    versity.start()
    assert read(storage, "d/f") == b"1"
    assert condition_of(lambda: put(storage, "d/f", b"2")) == "storage/exists"


def _race(root: str, number: int, rounds: int) -> list[str]:
    """Try to take each round's two names; return those taken."""
    storage, won = open_storage(root), list[str]()
    uploads = uploads_of(storage)
    assert uploads is not None
    for each in range(rounds):
        with suppress(StorageError):
            put(storage, f"made/{each}", b"%d" % number)
            won.append(f"made/{each}")
        upload = uploads.begin(f"completed/{each}", b"%d" % number)
        with suppress(StorageError):
            uploads.complete(f"completed/{each}", upload)
            won.append(f"completed/{each}")
    return won


def test_names_that_eight_processes_race_for_have_one_winner(bucket: str) -> None:
    """Each name is taken once, by creation and by an upload, and has the winner's bytes."""
    rounds, root = 20, f"s3a://{bucket}/race"
    with ProcessPoolExecutor(8, get_context("spawn")) as pool:
        results = list(pool.map(_race, [root] * 8, range(8), [rounds] * 8))
    names = [f"{kind}/{each}" for kind in ("made", "completed") for each in range(rounds)]
    assert sorted(name for won in results for name in won) == sorted(names)
    for number, won in enumerate(results):
        assert [read(open_storage(root), name) for name in won] == [b"%d" % number] * len(won)
    assert sum(bool(won) for won in results) > 1
