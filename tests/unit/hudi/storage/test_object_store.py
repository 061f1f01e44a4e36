"""The storage over an object store keeps the port's promises, as far as they need no moves."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import NotYetBuiltError, PlanError, StorageError
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Move, Storage
from framework.hudi.storage.store_settings import STORAGE_VARIABLE, StoreSettings, settings_text
from tests.support.s3_proxy import Fault, Proxy, proxied
from tests.support.s3_server import S3Server, running_s3
from tests.support.storage_suite import ObjectSuite, condition_of, put, read, tree

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Run one server for the module."""
    with running_s3() as found:
        yield found


@pytest.fixture(scope="module")
def proxy(server: S3Server) -> Iterator[Proxy]:
    """Run one proxy for the module."""
    with proxied(server) as found:
        yield found


def use(monkeypatch: pytest.MonkeyPatch, settings: StoreSettings) -> None:
    """Make this process reach S3 by the settings."""
    monkeypatch.setenv(STORAGE_VARIABLE, settings_text({"s3": settings}))


@pytest.fixture
def bucket(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a new bucket that this process reaches."""
    use(monkeypatch, server.settings)
    return server.new_bucket()


@pytest.fixture
def counted(
    server: S3Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Storage, Proxy]]:
    """Return an empty storage behind the proxy."""
    use(monkeypatch, proxy.settings)
    proxy.forget()
    yield open_storage(f"s3://{server.new_bucket()}/lake"), proxy
    proxy.forget()


class TestObjectStorage(ObjectSuite):
    """The suite over S3."""

    @pytest.fixture
    def storage(self, bucket: str) -> Storage:
        """Return an empty storage below a prefix."""
        return open_storage(f"s3://{bucket}/a/lake")


class TestObjectStorageOfAWholeBucket(ObjectSuite):
    """The suite over S3, without a prefix."""

    @pytest.fixture
    def storage(self, bucket: str) -> Storage:
        """Return an empty storage."""
        return open_storage(f"s3a://{bucket}")


def test_keys_in_the_bucket_are_the_names_unencoded(server: S3Server, bucket: str) -> None:
    """Another client finds the same names, and its own are found."""
    storage = open_storage(f"s3://{bucket}/x y")
    put(storage, "p=1%2F2/a +b")
    server.put(bucket, "x y/p=1%2F2/é#?[1]{2}", b"12")
    assert server.keys(bucket) == ["x y/p=1%2F2/a +b", "x y/p=1%2F2/é#?[1]{2}"]
    assert tree(storage) == {"p=1%2F2/a +b": b"", "p=1%2F2/é#?[1]{2}": b"12"}


def test_objects_that_stand_for_folders_are_no_files(server: S3Server, bucket: str) -> None:
    """Some programs create an empty object `folder/`."""
    for key in ("lake/", "lake/d/", "lake/d/f", "lake/e/"):
        server.put(bucket, key)
    storage = open_storage(f"s3://{bucket}/lake/")
    assert [(each.path, each.is_folder) for each in storage.list("")] == [("d", True), ("e", True)]
    assert [each.path for each in storage.list("d")] == ["d/f"]
    assert [each.path for each in storage.list("e")] == []


def test_keys_with_empty_levels_are_reported(server: S3Server, bucket: str) -> None:
    """They cannot be addressed; leaving them out would lose rows."""
    server.put(bucket, "lake/d//f")
    storage = open_storage(f"s3://{bucket}/lake")
    assert condition_of(lambda: list(storage.list("d"))) == "storage/bad-key"


@pytest.mark.parametrize("spelled", ["s3://{}/x", "s3a://{}/x/", "s3a://{}//x//"])
def test_every_spelling_of_a_place_has_one_location(bucket: str, spelled: str) -> None:
    """Hadoop resolves `s3a`, and tables record that."""
    assert open_storage(spelled.format(bucket)).location == f"s3a://{bucket}/x"


@pytest.mark.parametrize("location", ["s3://", "s3:///x", "s3://b/../x", "s3a://b/./x"])
def test_location_that_is_no_place_is_refused(location: str) -> None:
    """A bucket is needed, and dots have no meaning in keys."""
    with pytest.raises(PlanError) as caught:
        open_storage(location)
    assert caught.value.condition == "storage/bad-location"


def test_moves_are_refused_by_name(bucket: str) -> None:
    """A store cannot move an object."""
    storage = open_storage(f"s3://{bucket}/x")
    move = Move(source="a", target="b")
    actions: tuple[Callable[[], object], ...] = (
        lambda: storage.move([move]),
        lambda: storage.replace(move),
    )
    for action in actions:
        with pytest.raises(NotYetBuiltError) as caught:
            action()
        assert caught.value.condition == "storage/no-move"


def test_missing_bucket_is_named(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every operation says so, instead of finding nothing."""
    use(monkeypatch, server.settings)
    storage = open_storage("s3://no-such-bucket/x")
    for action in (
        lambda: list(storage.list("")),
        lambda: storage.stat("f"),
        lambda: storage.open_input("f"),
        lambda: put(storage, "f"),
        lambda: storage.delete("f"),
    ):
        assert condition_of(action) == "storage/no-bucket"


@pytest.mark.parametrize(
    ("fault", "condition"),
    [
        (Fault.DENIED, "storage/permission"),
        (Fault.BAD_KEY, "storage/credentials"),
        (Fault.SKEWED, "storage/clock-skew"),
        (Fault.BUSY, "storage/throttled"),
    ],
)
def test_refusal_of_the_service_has_its_condition(
    counted: tuple[Storage, Proxy], monkeypatch: pytest.MonkeyPatch, fault: Fault, condition: str
) -> None:
    """A reader and a writer get the same condition, with a remedy."""
    storage, proxy = counted
    use(monkeypatch, replace(proxy.settings, max_retries=0))
    storage = open_storage(storage.location)
    proxy.always = fault
    for action in (
        lambda: list(storage.list("")),
        lambda: storage.open_input("f"),
        lambda: storage.delete("f"),
    ):
        assert condition_of(action) == condition
    with pytest.raises(StorageError) as caught:
        put(storage, "f")
    assert caught.value.condition == condition
    assert caught.value.remedy


def test_endpoint_that_does_not_answer_is_unreachable(
    server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is one without TLS where TLS is needed."""
    closed = replace(server.settings, endpoint="http://127.0.0.1:9", max_retries=0)
    for settings in (closed, replace(server.settings, allow_http=None)):
        use(monkeypatch, settings)
        storage = open_storage("s3://b/x")
        assert condition_of(lambda storage=storage: storage.stat("f")) == "storage/unreachable"  # type: ignore[misc] # mypy cannot infer a lambda with a default


def test_storm_of_refusals_that_ends_is_endured(counted: tuple[Storage, Proxy]) -> None:
    """Requests are repeated with pauses."""
    storage, proxy = counted
    proxy.faults.extend([Fault.BUSY, Fault.LOST_REQUEST, Fault.BUSY])
    put(storage, "f", b"1")
    proxy.faults.extend([Fault.BUSY, Fault.LOST_ANSWER, Fault.BUSY])
    assert read(storage, "f") == b"1"


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.BUSY_BUT_DONE])
def test_create_whose_answer_is_lost_succeeds_once(
    counted: tuple[Storage, Proxy], fault: Fault
) -> None:
    """The repeated request finds its own work; another writer's file is still refused."""
    storage, proxy = counted
    proxy.faults.append(fault)
    put(storage, "f", b"1")
    assert read(storage, "f") == b"1"
    proxy.faults.append(fault)
    assert condition_of(lambda: put(storage, "f", b"1")) == "storage/exists"


def parquet(columns: int, rows: int) -> bytes:
    """Return a Parquet file of one row group."""
    table = pa.table({f"c{n}": pa.array(range(n, n + rows), pa.int64()) for n in range(columns)})
    out = io.BytesIO()
    pq.write_table(table, out, use_dictionary=False, compression="none")
    return out.getvalue()


def test_footer_costs_one_request(counted: tuple[Storage, Proxy]) -> None:
    """Opening fetches it."""
    storage, proxy = counted
    put(storage, "f", parquet(3, 100_000))
    proxy.forget()
    with storage.open_input("f") as stream:
        assert pq.ParquetFile(stream).metadata.num_rows == 100_000
    assert proxy.requests == {"GET": 1}


def test_small_file_costs_one_request(counted: tuple[Storage, Proxy]) -> None:
    """It is fetched whole; only an empty one costs more."""
    storage, proxy = counted
    put(storage, "f", b"x" * 50_000)
    proxy.forget()
    assert len(read(storage, "f")) == 50_000
    assert proxy.requests == {"GET": 1}


def test_one_column_costs_two_requests(counted: tuple[Storage, Proxy]) -> None:
    """One for the footer, one for the column's pages."""
    storage, proxy = counted
    put(storage, "f", parquet(5, 100_000))
    proxy.forget()
    with storage.open_input("f") as stream:
        found = pq.ParquetFile(stream).read(["c2"])
    assert found["c2"][99_999].as_py() == 100_001
    assert proxy.requests == {"GET": 2}


def test_whole_file_costs_requests_by_its_size(counted: tuple[Storage, Proxy]) -> None:
    """Reading in order fetches ahead, up to 8 MiB at a time."""
    storage, proxy = counted
    data = os.urandom(24 << 20)
    put(storage, "f", data)
    proxy.forget()
    with storage.open_input("f") as stream:
        found = b"".join(iter(lambda: stream.read(1 << 16), b""))
    assert found == data
    assert proxy.requests["GET"] <= 12


def test_read_of_a_replaced_object_is_refused(server: S3Server, bucket: str) -> None:
    """Bytes of two versions are never mixed."""
    server.put(bucket, "f", b"1" * 2_000_000)
    with open_storage(f"s3://{bucket}").open_input("f") as stream:
        stream.read(10)
        server.put(bucket, "f", b"2" * 2_000_000)
        stream.seek(1_000_000)
        assert condition_of(lambda: stream.read(10)) == "storage/changed"


def test_settings_do_not_show_their_values() -> None:
    """A log of them has names only."""
    shown = repr(StoreSettings(access_key_id="AK", secret_access_key="hidden"))  # noqa: S106
    assert "AK" not in shown
    assert "hidden" not in shown


def test_missing_client_names_the_extra() -> None:
    """A plain installation can say what object stores need."""
    program = (
        "import sys; sys.modules['obstore'] = None\n"
        "from framework.errors import StorageError\n"
        "from framework.hudi.storage.locations import open_storage\n"
        "try:\n    open_storage('s3://b/x')\n"
        "except StorageError as error:\n    print(error.condition, error.remedy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("storage/extra-missing")
    assert "lakestrap[stores]" in done.stdout
