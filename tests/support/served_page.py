"""Tables for the page, written file by file: commits, their gates, pending instants.

Base files are sparse, with the size in their commit; nothing here reads them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from framework.hudi.commit.intent import AUDIT_KEY, WRITE_ID_KEY
from framework.hudi.filegroup.slices import BaseFileName
from framework.hudi.table.layout import PARTITION_METADATA, PROPERTIES, PartitionMetadata
from framework.hudi.table.properties import new_table_properties
from framework.hudi.timeline.commit_metadata import CommitHead, WriteStat, write_commit
from framework.timeline_service.host import Served, ServiceOptions, serving
from framework.vocabulary import TableType
from tests.support.asking import Response, ask_server

__all__ = ["WrittenTable", "a_file", "a_served", "ask", "file_id"]


def file_id(number: int) -> str:
    """Return the id of a file group."""
    return str(uuid5(NAMESPACE_URL, str(number)))


@dataclass(frozen=True, kw_only=True)
class WrittenTable:
    """A table that is written by hand.

    Attributes:
        folder: base path.
    """

    folder: Path

    @property
    def hoodie(self) -> Path:
        """Its `.hoodie`, made where it is not there."""
        found = self.folder / ".hoodie"
        found.mkdir(parents=True, exist_ok=True)
        return found

    def name(self, name: str, table_type: TableType = TableType.COPY_ON_WRITE) -> None:
        """Write its properties."""
        _ = self.hoodie
        text = new_table_properties(name, table_type, key_properties={}).render()
        (self.folder / PROPERTIES).write_text(text, "latin-1")

    def request(self, instant: str, *, operation: str = "UPSERT") -> None:
        """Begin a commit."""
        head = CommitHead(extra={WRITE_ID_KEY: "e" * 32}, operation=operation)
        (self.hoodie / f"{instant}.commit.requested").write_bytes(_commit(head, ()))

    def inflight(self, instant: str, *, operation: str = "UPSERT") -> None:
        """Have a commit under way."""
        head = CommitHead(extra={WRITE_ID_KEY: "e" * 32}, operation=operation)
        (self.hoodie / f"{instant}.inflight").write_bytes(_commit(head, ()))

    def complete(
        self,
        instant: str,
        files: Sequence[WriteStat] = (),
        *,
        operation: str = "UPSERT",
        proof: Mapping[str, Any] | None = None,
        ours: bool = True,
    ) -> None:
        """Write the files of a commit, then the commit."""
        for each in files:
            (self.folder / each.path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / each.path).write_bytes(b"\0" * each.size)
            self.partition(each.partition_path, instant)
        extra = {WRITE_ID_KEY: "e" * 32} if ours else {}
        if proof is not None:
            extra[AUDIT_KEY] = json.dumps(proof)
        head = CommitHead(extra=extra, operation=operation)
        scratch = self.hoodie / "scratch"
        scratch.write_bytes(_commit(head, files))
        scratch.replace(self.hoodie / f"{instant}.commit")

    def commit(self, instant: str, files: Sequence[WriteStat] = (), **more: Any) -> None:
        """Write a commit in all its states."""
        operation = more.get("operation", "UPSERT")
        self.request(instant, operation=operation)
        self.inflight(instant, operation=operation)
        self.complete(instant, files, **more)

    def partition(self, path: str, instant: str) -> None:
        """Make a folder a partition."""
        file = self.folder / path / PARTITION_METADATA
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PartitionMetadata.of(path, instant).render(), "latin-1")


def a_file(
    number: int, instant: str, *, rows: int = 10, size: int = 1000, previous: str | None = None
) -> WriteStat:
    """Return what a commit says of a base file; the partition is `p=<number>`."""
    path = f"p={number}"
    name = BaseFileName(file_id=file_id(number), write_token="0-1-1", instant=instant)  # noqa: S106
    return WriteStat(
        file_id=file_id(number),
        path=f"{path}/{name}",
        partition_path=path,
        rows=rows,
        size=size,
        inserts=0 if previous else rows,
        updates=rows if previous else 0,
        previous=previous,
    )


@contextmanager
def a_served(*folders: Path, **options: Any) -> Iterator[Served]:
    """Serve tables on a free port within the block."""
    locations = [str(each) for each in folders]
    with serving(locations, ServiceOptions(**{"port": 0, **options})) as served:
        yield served


def ask(
    served: Served,
    path: str,
    *,
    token: str | None = "",
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Ask a service.

    Args:
        served: the service.
        path: with its query.
        token: to be shown; empty for the right one, None for none.
        method: of HTTP.
        headers: further ones.
    """
    shown = served.token if token == "" else token
    said = {"Authorization": f"Bearer {shown}"} if shown else {}
    return ask_server(served.server, method, path, headers={**said, **(headers or {})})


def _commit(head: CommitHead, files: Sequence[WriteStat]) -> bytes:
    """Return the bytes of a commit."""
    out = io.BytesIO()
    write_commit(out, head, [(each.partition_path, [each]) for each in files])
    return out.getvalue()
