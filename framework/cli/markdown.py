"""The Markdown of several plans as one text: what failed comes first."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from framework.errors import FrameworkError
from framework.plan.render.markdown_failure import failure_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["Markdown"]


@dataclass
class Markdown:
    """What is to be written; `failures` hold the errors of specs that have no plan."""

    failures: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)

    def noting_failures(self, one: Callable[[Path], int]) -> Callable[[Path], int]:
        """Return `one` so that an error of it, which is raised all the same, is noted."""

        def noted(path: Path) -> int:
            try:
                return one(path)
            except FrameworkError as error:
                self.failures.append(failure_text(str(path), error))
                raise

        return noted

    @contextlib.contextmanager
    def written(self, wanted: bool) -> Iterator[None]:
        """Write to stdout at the end, after a failure too, where it is wanted."""
        try:
            yield
        finally:
            if wanted:
                for text in (*self.failures, *self.plans):
                    sys.stdout.write(text.rstrip("\n") + "\n\n")
