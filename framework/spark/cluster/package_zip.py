"""This package as a zip file that Spark sends to executors.

The same installed files make the same bytes, and the name has their hash, so that a session that
runs two versions one after the other never mixes them.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

__all__ = ["package_zip", "write_package"]

_ROOT: Final = __name__.partition(".")[0]
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_HASH_CHARS: Final = 12


@cache
def package_zip() -> Path | None:
    """Return the zip file of the installed package, written once per process.

    None if this process itself imported the package from a zip, as with `--py-files`: then
    executors have it too.
    """
    folder = Path(str(sys.modules[_ROOT].__file__)).parent
    if not folder.is_dir():
        return None
    into = Path(mkdtemp(prefix="run-pipeline-"))
    atexit.register(shutil.rmtree, into, ignore_errors=True)
    return write_package(folder, into)


def write_package(folder: Path, into: Path) -> Path:
    """Write the files of the package in `folder` to a zip in `into`, and return its path."""
    digest = hashlib.sha256()
    found = list(_files(folder))
    for name, path in found:
        digest.update(f"{name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    target = into / f"lakestrap-{digest.hexdigest()[:_HASH_CHARS]}.zip"
    with ZipFile(target, "w") as out:
        for name, path in found:
            info = ZipInfo(name, _EPOCH)
            info.compress_type = ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            out.writestr(info, path.read_bytes())
    return target


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and path of each file, in the order of the names, without compiled modules."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{folder.name}/{path.relative_to(folder).as_posix()}", path
