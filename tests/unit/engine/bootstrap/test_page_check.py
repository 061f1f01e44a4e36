"""Pages that cannot be read behind a sound footer are found by file, column and row group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.source_checks import PageShare, check_pages
from framework.engine.tasks import InProcessTasks
from framework.errors import CorruptFileError, SourceDriftError
from tests.support.sources import SourceContext, source_context
from tests.support.torn import TEARS, pages_of, tear


def rows(start: int = 0) -> pa.Table:
    """Return 60 rows whose columns all have a dictionary, also inside a list and a struct."""
    at = range(start, start + 60)
    return pa.table(
        {
            "id": pa.array(at, pa.int64()),
            "text": [f"text {n % 9}" for n in at],
            "x": [float(n % 5) for n in at],
            "list": [[n % 7, None] for n in at],
            "inner": [{"a": n % 3, "b": f"b{n % 4}"} for n in at],
        }
    )


FILES = {"p=1/a": rows(), "p=1/b": rows(60), "p=2/a": rows(120)}


def context_of(
    tmp_path: Path, files: Mapping[str, pa.Table] = FILES, **options: Any
) -> SourceContext:
    """Return a source with two row groups in each file."""
    return source_context(tmp_path, files, row_group_size=30, **options)


def check(context: SourceContext, parallelism: int = 1) -> PageShare:
    """Read all pages of all files."""
    source = context.inventory
    return check_pages(
        InProcessTasks(parallelism), source.location, source.handle, context.ranges()
    )


def test_check_pages_sound_files_are_counted(tmp_path: Path) -> None:
    """Whatever is in them, and nothing is written."""
    context = context_of(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    found = check(context)
    handle = context.inventory.handle
    assert (found.files, found.rows, found.bytes) == (3, 180, handle.bytes)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip"])
@pytest.mark.parametrize("what", TEARS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_check_pages_torn_page_is_named(
    tmp_path: Path, what: str, codec: str, version: str
) -> None:
    """Headers and bodies of dictionaries and of data, of each codec and page version."""
    context = context_of(tmp_path, compression=codec, data_page_version=version)
    file = tmp_path / "source" / "p=1" / "b"
    columns = pq.read_metadata(file).num_columns
    for column in range(columns):
        kept = file.read_bytes()
        tear(file, column, 1, what)
        with pytest.raises(CorruptFileError) as caught:
            check(context)
        file.write_bytes(kept)
        name = pq.read_metadata(file).row_group(1).column(column).path_in_schema.split(".")[0]
        assert caught.value.condition == "source/corrupt-data"
        assert caught.value.where.file == str(file)
        assert f"column {name!r} of row group 1: " in caught.value.message
    assert check(context).files == 3


def test_check_pages_names_every_bad_file(tmp_path: Path) -> None:
    """In the order of their paths, whichever task met them."""
    context = context_of(tmp_path, {**FILES, "p=3/a": rows(180)})
    for path in ("p=2/a", "p=1/b", "p=3/a"):
        tear(tmp_path / "source" / path, 0, 0, "data body")
    with pytest.raises(CorruptFileError) as caught:
        check(context, parallelism=3)
    assert caught.value.where.file == str(tmp_path / "source" / "p=1" / "b")
    assert "also p=2/a: " in caught.value.message
    assert "also p=3/a: " in caught.value.message


def test_check_pages_many_bad_files_are_counted(tmp_path: Path) -> None:
    """Twenty are named."""
    files = {f"p=1/{n:02}": rows(n * 60) for n in range(23)}
    context = context_of(tmp_path, files)
    for path in files:
        tear(tmp_path / "source" / path, 0, 0, "data header")
    with pytest.raises(CorruptFileError) as caught:
        check(context)
    assert caught.value.message.count("also ") == 19
    assert "and 3 more files" in caught.value.message


def test_check_pages_any_flip_in_a_page_with_a_checksum_is_found(tmp_path: Path) -> None:
    """At places that are chosen at random, in bodies of all pages."""
    context = context_of(tmp_path, {"p=1/a": rows()}, write_page_checksum=True)
    file, rng = tmp_path / "source" / "p=1" / "a", Random(7)
    kept = file.read_bytes()
    for column in range(pq.read_metadata(file).num_columns):
        for _header, body in pages_of(file, column, 0):
            at = rng.choice(body)
            file.write_bytes(kept[:at] + bytes([kept[at] ^ 1 << rng.randrange(8)]) + kept[at + 1 :])
            with pytest.raises(CorruptFileError, match="row group 0"):
                check(context)


def test_check_pages_flips_without_a_checksum_are_found_or_decode(tmp_path: Path) -> None:
    """What still decodes passes, which is the limit; no other error comes."""
    context = context_of(tmp_path, {"p=1/a": rows()}, compression="zstd")
    file, rng = tmp_path / "source" / "p=1" / "a", Random(8)
    kept = file.read_bytes()
    end = len(kept) - 8 - int.from_bytes(kept[-8:-4], "little")
    found = Counter[str]()
    for _ in range(150):
        at = rng.randrange(4, end)
        file.write_bytes(kept[:at] + bytes([kept[at] ^ 1 << rng.randrange(8)]) + kept[at + 1 :])
        try:
            check(context)
        except CorruptFileError as error:
            found[error.condition] += 1
    assert set(found) == {"source/corrupt-data"}
    assert found.total() > 50


def test_check_pages_file_that_changed_is_drift(tmp_path: Path) -> None:
    """It is not the one whose footer the plan saw."""
    context = context_of(tmp_path)
    pq.write_table(rows(7), tmp_path / "source" / "p=2" / "a")
    with pytest.raises(SourceDriftError):
        check(context)


def test_check_pages_no_files_is_sound(tmp_path: Path) -> None:
    """Nothing is read."""
    assert check(source_context(tmp_path, {})).files == 0
