"""How this installation was made, so that a workflow elsewhere can make the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from typing import Any, Final
from urllib.parse import unquote, urlsplit

__all__ = ["VARIABLE", "Installation", "installation"]

VARIABLE: Final = "LAKESTRAP_PACKAGE"
"""The repository variable that names the package where this machine alone has it."""

_NAME: Final = "lakestrap"
_PLAIN: Final = re.compile(r"[\w.+:/@#=&%~,-]+")
_ASKED: Final = f'"${{{VARIABLE}:?set this repository variable to what pip can install}}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What `pip install` is given in a checkout of the user's repository.

    Attributes:
        words: for the shell, quoted.
        copy: a wheel of this machine that the repository needs, and where; None if none.
        asks: whether `words` take the package from the repository variable `VARIABLE`.
    """

    words: str
    copy: tuple[Path, Path] | None = None
    asks: bool = False


def installation(folder: Path) -> Installation:
    """Return how a workflow of the repository at `folder` installs what runs here."""
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:  # run from source
        return _asked()
    return installed_as(found.read_text("direct_url.json"), found.version, folder)


def installed_as(direct_url: str | None, version: str, folder: Path) -> Installation:
    """Return the installation that a record of its origin describes.

    Args:
        direct_url: text of `direct_url.json` (PyPA, "Recording the Direct URL Origin of installed
            distributions"); None where an index was asked by name.
        version: of the installed package.
        folder: root of the user's repository.
    """
    if direct_url is None:
        return Installation(words=quote(f"{_NAME}=={version}"))
    origin: dict[str, Any] = json.loads(direct_url)
    url = str(origin.get("url", ""))
    if url.startswith("file:"):
        return _local(Path(unquote(urlsplit(url).path)), folder)
    if not _PLAIN.fullmatch(url):
        return _asked()
    part = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
    if vcs := origin.get("vcs_info"):
        return Installation(words=quote(f"{_NAME} @ {vcs['vcs']}+{url}@{vcs['commit_id']}{part}"))
    return Installation(words=quote(f"{_NAME} @ {url}{part}"))


def _local(path: Path, folder: Path) -> Installation:
    """Return how a file or folder of this machine is installed; a wheel goes along."""
    root, path = folder.resolve(), path.resolve()
    if path.exists() and path.is_relative_to(root):
        return Installation(words=quote(f"./{path.relative_to(root).as_posix()}"))
    if path.is_file() and path.suffix == ".whl":
        place = Path(".github", "wheels", path.name)
        return Installation(words=quote(f"./{place.as_posix()}"), copy=(path, folder / place))
    return _asked()


def _asked() -> Installation:
    return Installation(words=_ASKED, asks=True)
