"""Tasks at whose edges a test does something: changes the source, or stops the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from framework.engine.tasks import InProcessTasks

__all__ = ["FOOTERS", "WRITING", "Meddling"]

FOOTERS = "footers_task"
WRITING = "write_files_task"


@dataclass(kw_only=True)
class Meddling:
    """Runs tasks in this process, and calls `act` when a kind of them is through.

    Attributes:
        after: name of the task's function.
        act: what happens; it may raise.
        statuses: how many statuses of that function come first; None lets all of a stage come.
        seen: how many statuses of it came.
        acted: how often it happened.
        ran: names of all task functions, in order.
    """

    after: str
    act: Callable[[], object]
    statuses: int | None = None
    seen: int = 0
    acted: int = 0
    parallelism: int = 1
    ran: list[str] = field(default_factory=list)

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield the statuses of `InProcessTasks`; act after the last, or after `statuses`."""
        self.ran.append(work.__name__)
        meant = work.__name__ == self.after
        for status in InProcessTasks(1).run(work, descriptors):
            if meant and self.seen == self.statuses:
                self._act()
            self.seen += meant
            yield status
        if meant and self.statuses is None:
            self._act()

    def _act(self) -> None:
        """Count it and do it."""
        self.acted += 1
        self.act()
