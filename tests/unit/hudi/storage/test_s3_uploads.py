"""Uploads of S3 are fences: nothing has a name before completion, and an abort is final."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage, Uploads, uploads_of
from framework.hudi.storage.store_settings import STORAGE_VARIABLE, settings_text
from tests.support.s3_server import S3Server, running_s3
from tests.support.storage_suite import condition_of, put, read, tree

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Run one server for the module."""
    with running_s3() as found:
        yield found


@pytest.fixture
def storage(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """Return an empty storage."""
    monkeypatch.setenv(STORAGE_VARIABLE, settings_text({"s3": server.settings}))
    return open_storage(f"s3://{server.new_bucket()}/lake")


def uploads_in(storage: Storage) -> Uploads:
    """Return the uploads of a store that has them."""
    found = uploads_of(storage)
    assert found is not None
    assert found.need_probe
    return found


def test_upload_has_no_name_until_it_is_completed(storage: Storage) -> None:
    """Its bytes come whole."""
    uploads, data = uploads_in(storage), b"x" * 100_000
    upload = uploads.begin("a/é +%.commit", data)
    assert tree(storage) == {}
    uploads.complete("a/é +%.commit", upload)
    assert read(storage, "a/é +%.commit") == data


def test_upload_for_a_taken_name_cannot_be_completed(storage: Storage) -> None:
    """The condition is checked at the completion, not before."""
    uploads = uploads_in(storage)
    upload = uploads.begin("a", b"2")
    put(storage, "a", b"1")
    assert condition_of(lambda: uploads.complete("a", upload)) == "storage/exists"
    assert read(storage, "a") == b"1"


def test_upload_that_was_aborted_cannot_be_completed(storage: Storage) -> None:
    """An abort may be repeated, and after a completion it harms nothing."""
    uploads = uploads_in(storage)
    upload = uploads.begin("a", b"1")
    uploads.abort("a", upload)
    uploads.abort("a", upload)
    refusals = {"storage/not-found", "storage/failed"}  # moto answers with 500
    assert condition_of(lambda: uploads.complete("a", upload)) in refusals
    assert storage.stat("a") is None
    again = uploads.begin("a", b"2")
    uploads.complete("a", again)
    uploads.abort("a", again)
    assert read(storage, "a") == b"2"
