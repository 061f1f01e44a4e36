"""Names of base and log files: what parses prints back, and what does not is None."""

from __future__ import annotations

import pickle
from copy import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.filegroup.slices import BaseFileName, LogFileName, instant_of

PARTS = st.text(
    st.characters(exclude_characters="_/.", exclude_categories=["Cc", "Cs"]), min_size=1
)
DIGITS = st.text("0123456789", min_size=1, max_size=17)
WRITTEN_BY = "0-32-104"
TOKENS = st.builds("{}-{}-{}".format, *[st.integers(0, 2**31)] * 3)


@pytest.mark.property
@settings(deadline=None)
@given(PARTS, TOKENS, DIGITS, st.sampled_from(["parquet", "orc", "hfile"]))
def test_base_file_name_printed_parses_back(
    file_id: str, token: str, instant: str, extension: str
) -> None:
    """Parsing a printed name gives the same parts."""
    name = BaseFileName(file_id=file_id, write_token=token, instant=instant, extension=extension)
    assert BaseFileName.parse(str(name)) == name
    assert LogFileName.parse(str(name)) is None
    assert instant_of(str(name)) == instant
    assert pickle.loads(pickle.dumps(name)) == copy(name) == name  # noqa: S301 - our own bytes


@pytest.mark.property
@settings(deadline=None)
@given(
    file_id=PARTS,
    instant=DIGITS,
    version=st.integers(0, 2**31 - 1),
    token=st.none() | TOKENS,
    is_cdc=st.booleans(),
)
def test_log_file_name_printed_parses_back(
    *, file_id: str, instant: str, version: int, token: str | None, is_cdc: bool
) -> None:
    """Parsing a printed name gives the same parts."""
    name = LogFileName(
        file_id=file_id, base_instant=instant, version=version, write_token=token, is_cdc=is_cdc
    )
    assert LogFileName.parse(str(name)) == name
    assert BaseFileName.parse(str(name)) is None
    assert instant_of(str(name)) == instant


@pytest.mark.property
@settings(deadline=None)
@given(st.text() | st.from_regex(r"\.?[a-z0-9_.-]+(log)?[._0-9-]*(parquet)?", fullmatch=True))
def test_any_text_that_parses_prints_the_same(text: str) -> None:
    """No two texts mean one name, but for leading zeros of a version."""
    base, log = BaseFileName.parse(text), LogFileName.parse(text)
    assert base is None or str(base) == text
    assert log is None or LogFileName.parse(str(log)) == log


def test_names_that_apache_hudi_makes_have_their_parts() -> None:
    """Examples of the format sheet, sections 3.1 and 6.1."""
    base = BaseFileName.parse("0a1b-2c-0_0-32-104_20260307162434124.parquet")
    assert base == BaseFileName(
        file_id="0a1b-2c-0", write_token=WRITTEN_BY, instant="20260307162434124"
    )
    log = LogFileName.parse(".0a1b-2c-0_00000000000001.log.1_0-32-104")
    assert log == LogFileName(
        file_id="0a1b-2c-0", base_instant="00000000000001", version=1, write_token=WRITTEN_BY
    )


@pytest.mark.parametrize(
    "name",
    [
        ".hoodie_partition_metadata",
        "_SUCCESS",
        "part-00000-abc.snappy.parquet",
        ".f_1.log.99999999999_0-0-0",
        "f_0-0-0_1.parquet.crc",
        ".f_0-0-0_1.parquet.crc",
        "f_0-0-0_123456789012345678.parquet",
        "f_0-0-0_1.csv",
        "a.b_0-0-0_1.parquet",
        "",
    ],
)
def test_other_names_are_no_files_of_a_group(name: str) -> None:
    """Foreign files are not taken for data."""
    assert instant_of(name) is None


def test_name_of_parts_that_would_not_come_back_is_refused() -> None:
    """An underscore in a file id would be read as the end of it."""
    with pytest.raises(CorruptFileError) as caught:
        BaseFileName(file_id="a_b", write_token=WRITTEN_BY, instant="1")
    assert caught.value.condition == "filegroup/bad-name"
    with pytest.raises(CorruptFileError):
        LogFileName(file_id="a", base_instant="1", version=-1)
