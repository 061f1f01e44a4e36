"""Whether a table's own files are as they were written: their seals, compared in tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from framework.engine.tasks import Tasks, decode, encode
from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter
from framework.vocabulary import Verify

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["SealCheck", "check_seals", "verify_seals"]

_FILES_PER_TASK: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class SealCheck:
    """Base files and skeletons for one task.

    Attributes:
        files: absolute paths.
        every_page: whether column chunks are compared too, or footers only.
    """

    files: list[str]
    every_page: bool


def verify_seals(files: Sequence[str], verify: Verify, tasks: Tasks) -> None:
    """Compare base files and skeletons with their seals; nothing for `STAT`.

    `FOOTER` reads footers, `FULL` all bytes. Of a file without a seal, which others wrote, `FULL`
    decodes every page and compares those that have a checksum.

    Raises:
        CorruptFileError: `file/not-readable`.
    """
    if verify is Verify.STAT:
        return
    checks = [
        encode(
            SealCheck(files=[*files[at : at + _FILES_PER_TASK]], every_page=verify is Verify.FULL)
        )
        for at in range(0, len(files), _FILES_PER_TASK)
    ]
    for _ in tasks.run(check_seals, checks):
        pass


def check_seals(descriptor: str) -> str:
    """Check the files of a `SealCheck`; return an empty text.

    Raises:
        CorruptFileError: `file/not-readable`.
    """
    check = decode(SealCheck, descriptor)
    for path in check.files:
        try:
            _check_one(path, every_page=check.every_page)
        except UNREADABLE as error:
            raise CorruptFileError(
                "file/not-readable",
                f"the file cannot be read: {error}",
                where=Where(file=path),
                remedy="Restore the file from a copy.",
            ) from error
    return ""


def _check_one(path: str, *, every_page: bool) -> None:
    """Compare a footer with its seal, and with every page what the footer describes."""
    with pa.OSFile(path) as source:
        footer = SealedFooter.read(source)
        if not every_page:
            return
        parquet = footer.opened(source)
        if footer.checksums is None:
            for _ in parquet.iter_batches():
                pass
