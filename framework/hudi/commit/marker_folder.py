"""The folder of an instant's markers: a type file, and batches with one marker per line.

This is Apache Hudi's batched form (format sheet, section 10.1). Nothing else may lie in the folder,
so a batch is made elsewhere and moved in whole: whoever reads the folder reads no half of one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from framework.errors import StorageError
from framework.hudi.storage.port import Entry, Move, Storage
from framework.hudi.table.layout import join, temp_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


__all__ = ["batch_files", "place_batch", "read_batch", "type_file"]

_TYPE: Final = b"TIMELINE_SERVER_BASED"
_BATCH: Final = re.compile(r"MARKERS([0-9]+)")
_ATTEMPTS: Final = 16


def type_file(storage: Storage, instant: str) -> Entry | None:
    """Return the file that names the form of an instant's markers, None where there is none."""
    return storage.stat(_type_path(instant))


def batch_files(storage: Storage, instant: str) -> dict[int, Entry]:
    """Return an instant's batches by number, ascending; one listing."""
    found = ((_BATCH.fullmatch(entry.name), entry) for entry in storage.list(temp_folder(instant)))
    return dict(sorted((int(match[1]), entry) for match, entry in found if match))


def read_batch(storage: Storage, path: str) -> list[str]:
    """Return the lines of a batch, in its order; bytes that are no UTF-8 are replaced."""
    with storage.open_input(path) as source:
        text = source.read().decode(errors="replace")
    return [line for line in text.split("\n") if line]


def place_batch(
    storage: Storage,
    instant: str,
    lines: Iterable[str],
    *,
    new_temporary: Callable[[], str],
    check: Callable[[], object] = lambda: None,
) -> None:
    """Add one more batch; the type file is made with the first. Durable on return.

    Args:
        storage: the table.
        instant: whose folder it is.
        lines: markers, without line breaks in them.
        new_temporary: gives a path outside the folder that nobody else has.
        check: called when the bytes are durable, before they are moved in; what it raises leaves
            the folder as it was.
    """
    placing = (storage, new_temporary, check)
    if type_file(storage, instant) is None:
        try:
            _place(*placing, [_type_path(instant)], _TYPE)
        except StorageError as error:  # another process may have been faster
            if error.condition != "storage/exists":
                raise
    start = 1 + max(batch_files(storage, instant), default=-1)
    targets = [join(temp_folder(instant), f"MARKERS{start + n}") for n in range(_ATTEMPTS)]
    _place(*placing, targets, "".join(f"{line}\n" for line in lines).encode())


def _type_path(instant: str) -> str:
    """Return where the type file lies."""
    return join(temp_folder(instant), "MARKERS.type")


def _place(
    storage: Storage,
    new_temporary: Callable[[], str],
    check: Callable[[], object],
    targets: list[str],
    data: bytes,
) -> None:
    """Make a file whole, under the first of `targets` that is free."""
    temporary = new_temporary()
    with storage.create(temporary) as out:
        out.write(data)
    check()
    for target in targets:
        try:
            storage.move([Move(source=temporary, target=target)])
        except StorageError as error:
            if error.condition != "storage/exists" or target == targets[-1]:
                raise
        else:
            return
