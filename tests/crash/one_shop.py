"""One run of a shop that quarantines rows, or a release, for a fork to be killed in."""

from __future__ import annotations

import sys
from pathlib import Path

from framework.errors import FrameworkError
from tests.support.quarantine import Shop

__all__ = ["QUARANTINED", "a_shop", "run_shop"]

QUARANTINED = 2
"""Rows that a run quarantines; a release puts one of them into the table."""


def a_shop(folder: Path, kind: str, *, least: int = 3) -> Shop:
    """Return a shop whose spec loads rows, or only begins its table."""
    if kind == "bootstrap":
        return Shop(folder=folder, least=least, operation="", ordering=False)
    return Shop(folder=folder, least=least)


def run_shop(folder: str, kind: str, what: str) -> int:
    """Run the shop, or release its rows; return 0 also where there is nothing to do."""
    shop = a_shop(Path(folder), kind, least=0 if what == "release" else 3)
    try:
        if what == "run":
            shop.run()
        else:
            shop.finish()
            if any(each.rows == QUARANTINED for each in shop.waiting()):
                shop.release()
    except FrameworkError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0
