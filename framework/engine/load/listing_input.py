"""The source of a load as it is now: which files are there, and which of them are loaded."""

from __future__ import annotations

import hashlib
from typing import Final

from framework.engine.places import canonical
from framework.engine.reading.load_history import file_hash, load_state
from framework.errors import PlanError, Where
from framework.hudi.bootstrap.discovery import Ignored, SourceFile, discover
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of, parent_of
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.load import InputListing, LoadRequest

__all__ = ["list_input"]

_MOST_FILES: Final = 250_000


def list_input(table: Storage, request: LoadRequest) -> InputListing:
    """Return the files that a load takes, and those that earlier loads took.

    Costs a listing of each folder of the source, and the head of each commit of the table.

    Raises:
        PlanError: `source/missing`, `load/too-many-files`, or as of `discover`.
        CorruptFileError: `load/facts-not-readable`.
        StorageError: a folder cannot be listed.
    """
    state = load_state(table, load_timeline(table), request.source_id)
    is_done = request.run_id is not None and request.run_id in state.run_ids
    if request.input is not None and request.input.files is not None:
        return _as_named(request.input.files, is_done=is_done)
    if request.input is None or request.input.path is None or not request.is_folder:
        return InputListing(is_done=is_done)
    root, files = _files(request.input.path)
    hashes = {each.path: file_hash(each.path, each.size, each.mtime_ns) for each in files}
    loaded = [each for each in files if hashes[each.path] in state.loaded]
    chosen = [e for e in files if not (request.only_new and hashes[e.path] in state.loaded)]
    digest = hashlib.sha256()
    for each in chosen:
        digest.update(f"{each.path}\0{each.size}\0{each.mtime_ns}\n".encode())
    return InputListing(
        files=tuple(f"{root}/{each.path}" for each in chosen),
        bytes=sum(each.size for each in chosen),
        earlier_files=len(loaded),
        remembered=tuple(sorted({hashes[each.path] for each in (*loaded, *chosen)})),
        sha256=digest.hexdigest(),
        has_folders=any("=" in folder for each in chosen for folder in each.path.split("/")[:-1]),
        is_done=is_done,
    )


def _as_named(paths: tuple[str, ...], *, is_done: bool) -> InputListing:
    """Return files that the request names itself, of which nothing is remembered."""
    entries = [open_storage(parent_of(path)).stat(name_of(path)) for path in paths]
    size = sum(each.size for each in entries if each)
    return InputListing(files=paths, bytes=size, is_done=is_done)


def _files(path: str) -> tuple[str, list[SourceFile]]:
    """Return the root of a source, and its files by path."""
    root = canonical(path)
    storage = open_storage(root)
    if storage.stat("") is None:
        raise PlanError(
            "source/missing",
            f"there is nothing at {path}",
            where=Where(file=path),
            remedy="Correct `source.path`, or mount what should be there.",
        )
    files = list(discover(storage, 0, Ignored()))
    if len(files) > _MOST_FILES:
        raise PlanError(
            "load/too-many-files",
            f"the source has {len(files):,} files; one load takes at most {_MOST_FILES:,}",
            where=Where(file=path),
            remedy="Move what is loaded out of the way, or load subfolders by specs of their own.",
        )
    return root, files
