"""Division of slices into parts of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from framework.hudi.filegroup.slices import FileSlice

__all__ = ["packed"]


def packed(slices: Iterable[FileSlice], most: int) -> Iterator[tuple[FileSlice, ...]]:
    """Yield slices in order, as many together as `most` bytes to read allow, at least one."""
    part: list[FileSlice] = []
    size = 0
    for each in slices:
        if part and size + each.bytes_to_read > most:
            yield tuple(part)
            part, size = [], 0
        part.append(each)
        size += each.bytes_to_read
    if part:
        yield tuple(part)
