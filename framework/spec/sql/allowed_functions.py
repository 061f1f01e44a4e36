"""The functions that SQL of a spec may call, and those of Spark that it may not, with why.

The list is `spark_functions.json`, which `tools/write_spark_functions.py` makes from Spark's own
registries. On it is what makes values of the values that it is given, of the clock, or of chance.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Final

from framework.spec.document.findings import nearest

__all__ = ["function_fault", "nearest_function", "refused_functions"]

_FILE: Final = Path(__file__).with_name("spark_functions.json")
_SYNTAX: Final = frozenset(
    {"cast", "try_cast", "timestampadd", "timestampdiff", "timediff", "try_timestampadd"}
)
"""What Spark's grammar reads as a call, though no registry has it."""


def function_fault(name: str) -> str | None:
    """Why SQL of a spec may not call the function, whatever the case; None where it may.

    A name of several parts is a function of a catalog, which is never on the list.
    """
    key = name.lower()
    allowed, refused = _lists()
    if key in allowed:
        return None
    if key in refused:
        return f"`{name[:60]}` is not for specs: {refused[key]}"
    return f"`{name[:60]}` is not among the functions that specs may call"


def nearest_function(name: str) -> str | None:
    """The allowed function whose name is nearly the same, or None."""
    return nearest(name.lower(), _lists()[0])


def refused_functions() -> frozenset[str]:
    """The functions of Spark that are not allowed."""
    return frozenset(_lists()[1])


@cache
def _lists() -> tuple[frozenset[str], dict[str, str]]:
    """What is allowed, and what is refused with its reason."""
    found: dict[str, dict[str, str]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return frozenset(found["allowed"]) | _SYNTAX, found["refused"]
