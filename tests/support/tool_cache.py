"""Large tools that tests fetch or build once for all checkouts, in the user's cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["cached"]


def cached(name: str, recipe: str, make: Callable[[Path], None]) -> Path:
    """Return the folder that `make` filled, now or earlier.

    Args:
        name: a readable part of the folder's name.
        recipe: all that decides the folder's contents; another recipe has another folder.
        make: fills a new folder. If it fails, nothing is kept.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakestrap"
    folder = home / f"{name}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    if not folder.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=home) as scratch:
            fresh = Path(scratch) / name
            fresh.mkdir()
            make(fresh)
            try:
                fresh.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was quicker
                    raise
    return folder
