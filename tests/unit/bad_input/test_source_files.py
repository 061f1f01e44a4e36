"""Source files that are not Parquet, not whole, not readable or not there."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from framework.errors import CorruptFileError, PlanError, StorageError
from framework.hudi.bootstrap.fingerprint import read_footer
from framework.hudi.bootstrap.source_schema import SchemaCache
from tests.support.scenes import Scene, a_document, a_scene, plan, refusal
from tests.support.sources import ids

GOOD = {"p=1/a.parquet": ids(*range(100)), "p=1/b.parquet": ids(*range(100, 200))}


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _without_first_pages(data: bytes) -> bytes:
    return data[:4] + data[200:]


def _with_long_footer(data: bytes) -> bytes:
    return data[:-8] + (1 << 30).to_bytes(4, "little") + b"PAR1"


def _with_garbled_footer(data: bytes) -> bytes:
    length = int.from_bytes(data[-8:-4], "little")
    return data[: -8 - length] + b"\xff" * length + data[-8:]


BYTES: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("source/zero-bytes", lambda _: b""),
    ("source/not-parquet", lambda _: b"id,v\n1,x\n2,y\n"),
    ("source/not-parquet", lambda _: b"x"),
    ("source/not-parquet", lambda _: b"\0" * 5000),
    ("source/truncated", lambda data: data + b"\n"),
    ("source/truncated", _cut),
    ("source/truncated", lambda data: data[:-1]),
    ("source/truncated", _without_first_pages),
    ("source/encrypted", lambda data: b"PARE" + data[4:-4] + b"PARE"),
    ("source/corrupt-footer", _with_long_footer),
    ("source/corrupt-footer", _with_garbled_footer),
]


@pytest.mark.parametrize(("condition", "change"), BYTES, ids=range(len(BYTES)))
def test_source_file_of_wrong_bytes_is_refused_by_name(
    tmp_path: Path, condition: str, change: Callable[[bytes], bytes]
) -> None:
    """What cannot be read is found while planning, before anything is written."""
    scene = a_scene(tmp_path, GOOD)
    bad = scene.source / "p=1" / "b.parquet"
    bad.write_bytes(change(bad.read_bytes()))
    error = refusal(scene, condition).error
    assert isinstance(error, CorruptFileError)
    assert error.exit_code == 5
    assert error.where.file == str(bad)
    assert error.where.offset is not None


def test_file_with_encrypted_columns_under_a_plain_footer_is_refused(tmp_path: Path) -> None:
    """Its footer reads as any other; asked for that column, Arrow would end the process."""
    scene = a_scene(tmp_path, GOOD)
    bad = scene.source / "p=1" / "b.parquet"
    _write_encrypted(bad, ids(7, v=["secret"]))
    assert bad.read_bytes()[-4:] == b"PAR1"
    error = refusal(scene, "source/encrypted").error
    assert error.exit_code == 5
    assert error.where.file == str(bad)


def test_summary_file_that_is_not_hidden_is_refused(tmp_path: Path) -> None:
    """A `_metadata` file under another name has a footer of rows in other files."""
    scene = a_scene(tmp_path, GOOD)
    bad = scene.source / "p=1" / "summary.parquet"
    metadata = pq.read_metadata(scene.source / "p=1" / "b.parquet")
    metadata.set_file_path("b.parquet")
    metadata.write_metadata_file(bad)
    error = refusal(scene, "source/data-elsewhere").error
    assert error.exit_code == 5
    assert error.where.file == str(bad)


def test_column_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    """Old writers put names in other encodings into the footer."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, name=[1])})
    bad = scene.source / "p=1" / "a.parquet"
    bad.write_bytes(bad.read_bytes().replace(b"name", b"n\xe4me"))
    assert refusal(scene, "source/corrupt-footer").error.where.file == str(bad)


@pytest.mark.parametrize("mask", [0x01, 0x10, 0x80, 0xFF])
def test_footer_with_any_byte_changed_is_read_or_refused(tmp_path: Path, mask: int) -> None:
    """Whatever a bad disk does to it, the process lives and the error is typed."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, 2, v=[["a"], None])})
    data = (scene.source / "p=1" / "a.parquet").read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    refused: list[str] = []
    for at in range(len(data) - 8 - length, len(data)):
        changed = data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
        try:
            footer = read_footer(pa.BufferReader(changed), len(changed), "f")
            SchemaCache().facts(footer.metadata)
        except CorruptFileError as error:
            refused.append(error.condition)
    assert len(refused) > length / 10
    assert all(condition.startswith("source/") for condition in refused)


def test_pages_that_cannot_be_read_stop_the_run(tmp_path: Path) -> None:
    """A good footer over spoiled pages passes the plan; the run names file and row group."""
    scene = a_scene(tmp_path, GOOD)
    bad = scene.source / "p=1" / "b.parquet"
    data = bytearray(bad.read_bytes())
    data[4:60] = b"\xff" * 56
    bad.write_bytes(bytes(data))
    assert plan(scene).plan.has_changes
    error = refusal(scene, "source/corrupt-data").error
    assert error.exit_code == 5
    assert error.where.file == str(bad)
    assert "row group 0" in error.message


def test_pages_of_no_key_column_are_not_read_by_skeletons(tmp_path: Path) -> None:
    """Data of other columns is not copied, so it is full files that find it spoiled."""
    files = {"p=1/a.parquet": ids(1, 2, v=["x" * 50, "y" * 50])}
    scene = a_scene(tmp_path, files, a_document(mode="full_record"))
    bad = scene.source / "p=1" / "a.parquet"
    column = pq.ParquetFile(bad).metadata.row_group(0).column(1)
    start = column.dictionary_page_offset
    data = bytearray(bad.read_bytes())
    data[start : start + 30] = b"\xff" * 30
    bad.write_bytes(bytes(data))
    assert refusal(scene, "source/corrupt-data").error.where.file == str(bad)


@pytest.mark.parametrize("allow", [False, True])
def test_source_without_a_file_is_refused_unless_allowed(tmp_path: Path, *, allow: bool) -> None:
    """An empty source is most often a wrong path; where it is meant, there is nothing to do."""
    scene = a_scene(tmp_path, {}, a_document(allow_empty=allow))
    if allow:
        assert not plan(scene).plan.has_changes
        return
    _refused_as_empty(scene)


@pytest.mark.parametrize("name", ["_SUCCESS", ".hidden.parquet", "_x/a.parquet", "a._COPYING_"])
def test_source_of_hidden_files_only_is_refused(tmp_path: Path, name: str) -> None:
    """What Spark would not read is not there."""
    scene = a_scene(tmp_path, {f"p=1/{name}": ids(1)})
    _refused_as_empty(scene)


def test_source_of_empty_folders_only_is_refused(tmp_path: Path) -> None:
    """Folders alone are no data."""
    scene = a_scene(tmp_path, {})
    (scene.source / "p=1").mkdir()
    _refused_as_empty(scene)


def test_source_whose_partitions_are_all_skipped_is_refused(tmp_path: Path) -> None:
    """Rules that leave nothing are a mistake too."""
    scene = a_scene(tmp_path, GOOD, a_document(mode="skip"))
    _refused_as_empty(scene)


def test_dangling_link_among_the_files_is_refused(tmp_path: Path) -> None:
    """A broken link is a missing file."""
    scene = a_scene(tmp_path, GOOD)
    (scene.source / "p=1" / "c.parquet").symlink_to(tmp_path / "gone")
    error = refusal(scene, "storage/not-found").error
    assert isinstance(error, StorageError)
    assert error.where.file == f"{scene.source}/p=1/c.parquet"


def test_link_back_up_among_the_folders_is_refused(tmp_path: Path) -> None:
    """An endless walk is reported as such."""
    scene = a_scene(tmp_path, {"a.parquet": ids(1)}, a_document(partition={}))
    (scene.source / "again").symlink_to(scene.source)
    error = refusal(scene, "source/too-deep").error
    assert isinstance(error, PlanError)
    assert "again" in str(error.where.file)


def test_source_that_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A pipe would block the run for ever."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1)})
    pipe = scene.source / "p=1" / "b.parquet"
    os.mkfifo(pipe)
    with pytest.raises(StorageError) as caught:
        plan(scene)
    assert caught.value.where.file == str(pipe)
    assert not scene.location.exists()


def test_file_whose_name_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """Such a name can be in no commit."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1)})
    folder = os.fsencode(scene.source / "p=1")
    os.link(folder + b"/a.parquet", folder + b"/\xff.parquet")
    with pytest.raises(StorageError) as caught:
        plan(scene)
    assert "UTF-8" in caught.value.message
    assert "\\xff" in str(caught.value.where.file)


class _Kms(encryption.KmsClient):  # type: ignore[misc] # pyarrow has no types
    """A key server that keeps nothing secret."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        """Return the key as text."""
        assert master_key_identifier
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        """Return the key again."""
        assert master_key_identifier
        return base64.b64decode(wrapped_key)


def _write_encrypted(path: Path, rows: pa.Table) -> None:
    """Write a file whose last column is encrypted and whose footer is not."""
    settings = encryption.EncryptionConfiguration(
        footer_key="footer",
        column_keys={"column": [rows.schema.names[-1]]},
        plaintext_footer=True,
        double_wrapping=False,
    )
    factory = encryption.CryptoFactory(lambda _: _Kms())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    with pq.ParquetWriter(path, rows.schema, encryption_properties=properties) as writer:
        writer.write_table(rows)


def _refused_as_empty(scene: Scene) -> None:
    """Return the refusal of an empty source, reported at its path in the spec."""
    error = refusal(scene, "source/empty").error
    assert isinstance(error, PlanError)
    assert error.where.file == str(scene.spec)
    assert error.where.line
    assert "allow_empty" in error.remedy
