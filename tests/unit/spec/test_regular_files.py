"""Files that a spec names are regular ones of a bounded size, whatever has their name."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.errors import PlanError, SpecError
from framework.spec.document.secret import Secret, SecretName
from framework.spec.document.source import NotRegularError, TooBigError, read_regular
from framework.spec.loader import load_spec
from framework.spec.sections.project import PROJECT_FILE
from tests.unit.spec.conftest import SPEC, WriteSpec

pytestmark = pytest.mark.timeout(20)  # an opener that waits for a writer fails, and does not hang

LOADING = """\
version: 1
table:
  name: nyc.flights
  location: lake/flights
  record_key: auto
source: {path: lake/landing}
write: {operation: insert}
"""
TRANSFORM = f"{LOADING}transforms:\n  - {{name: rows, sql_file: rows.sql}}\n"
CONTRACT = SPEC.replace("  type: copy_on_write\n", "  columns: x.columns.yml\n")


def a_fifo(path: Path) -> None:
    """Make a FIFO that has no writer."""
    os.mkfifo(path)


def a_link_to_a_fifo(path: Path) -> None:
    """Make a link that leads to a FIFO of the same name in a folder beside it."""
    folder = path.with_name("linked")
    folder.mkdir()
    os.mkfifo(folder / path.name)
    path.symlink_to(folder / path.name)


def a_socket(path: Path) -> None:
    """Make a socket."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def a_folder(path: Path) -> None:
    """Make a folder."""
    path.mkdir()


KINDS = {
    "a FIFO": a_fifo,
    "a link to a FIFO": a_link_to_a_fifo,
    "a socket": a_socket,
    "a folder": a_folder,
}
by_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())


def rules_of(path: Path) -> set[str]:
    """Return the rules of what loading the spec finds."""
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    return {finding.rule for finding in caught.value.findings}


@by_kind
def test_load_spec_of_what_is_no_regular_file_refuses_it(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    """The spec itself."""
    make(tmp_path / "x.pipeline.yml")
    assert rules_of(tmp_path / "x.pipeline.yml") == {"spec/unreadable-file"}


@by_kind
def test_load_spec_with_sql_in_what_is_no_regular_file_refuses_it(
    make: Callable[[Path], None], tmp_path: Path, write_spec: WriteSpec
) -> None:
    """`sql_file`."""
    make(tmp_path / "rows.sql")
    assert rules_of(write_spec(TRANSFORM)) == {"spec/unreadable-file"}


@by_kind
def test_load_spec_with_columns_in_what_is_no_regular_file_refuses_it(
    make: Callable[[Path], None], tmp_path: Path, write_spec: WriteSpec
) -> None:
    """`table.columns`; the link leads to a FIFO whose name is right."""
    make(tmp_path / "x.columns.yml")
    assert rules_of(write_spec(CONTRACT)) == {"spec/unreadable-file"}


@pytest.mark.parametrize("make", [a_fifo, a_link_to_a_fifo, a_socket])
def test_load_spec_with_a_project_file_that_is_no_regular_file_refuses_it(
    make: Callable[[Path], None], tmp_path: Path, write_spec: WriteSpec
) -> None:
    """The project file, which is looked for by name and not passed over."""
    make(tmp_path / PROJECT_FILE)
    assert "spec/unreadable-file" in rules_of(write_spec(SPEC))


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="there is no such device")
def test_load_spec_with_sql_in_a_device_refuses_it_unread(
    tmp_path: Path, write_spec: WriteSpec
) -> None:
    """A link to `/dev/zero` leads out of the project; the device itself is refused as well."""
    (tmp_path / "rows.sql").symlink_to("/dev/zero")
    assert rules_of(write_spec(TRANSFORM)) == {"spec/file-outside"}
    with pytest.raises(NotRegularError, match="device"):
        read_regular(Path("/dev/zero"), 10)


def test_load_spec_with_too_much_sql_refuses_it(tmp_path: Path, write_spec: WriteSpec) -> None:
    """The bound of a spec holds for what it names; a sparse file shows that little is read."""
    with (tmp_path / "rows.sql").open("wb") as file:
        file.truncate(10**11)
    assert rules_of(write_spec(TRANSFORM)) == {"spec/file-too-big"}


def test_reveal_of_a_secret_in_a_fifo_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of a secret."""
    a_fifo(tmp_path / "token")
    monkeypatch.setenv("RUN_PIPELINE_SECRETS", str(tmp_path))
    secret = Secret(parts=(SecretName(name="token"),), written="${secret.token}")
    with pytest.raises(PlanError) as caught:
        secret.reveal()
    assert caught.value.condition == "spec/undefined-secret"


@pytest.mark.parametrize(("size", "limit"), [(0, 0), (0, 5), (5, 5)])
def test_read_regular_up_to_its_bound_returns_the_bytes(
    size: int, limit: int, tmp_path: Path
) -> None:
    """The bound is inclusive."""
    (tmp_path / "x").write_bytes(b"a" * size)
    assert read_regular(tmp_path / "x", limit) == b"a" * size


def test_read_regular_beyond_its_bound_raises(tmp_path: Path) -> None:
    """One byte more is too many."""
    (tmp_path / "x").write_bytes(b"abcdef")
    with pytest.raises(TooBigError):
        read_regular(tmp_path / "x", 5)
