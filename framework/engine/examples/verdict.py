"""What came of a run beside what its test expects."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from framework.engine.examples.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from framework.engine.examples.comparison import Difference
    from framework.engine.examples.refusal import Refusal
    from framework.plan.examples.example import Example
    from framework.plan.faults import Fault

__all__ = ["Happened", "differences", "reasons"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What came of a run.

    Attributes:
        rows: by the names of what a test may expect; what no test asks for may be missing.
        refusal: None where the run was not refused.
    """

    rows: Mapping[str, pa.Table]
    refusal: Refusal | None


def reasons(example: Example, happened: Happened) -> Iterator[str]:
    """Yield why the run is not what the test expects, rows aside."""
    refusal, names = happened.refusal, example.refused_by
    if refusal is None:
        if example.is_refusal:
            by = f" by {_listed(names)}" if names else ""
            yield f"the run should be refused{by}, and was not"
        return
    if not example.is_refusal:
        yield f"the run was refused: {refusal.words}"
    elif names is not None and Counter(names) != Counter(refusal.names):
        yield f"the run should be refused by {_listed(names)}, and was by {_listed(refusal.names)}"


def differences(example: Example, happened: Happened, faults: list[Fault]) -> Iterator[Difference]:
    """Yield what differs of each list of rows that the test expects.

    A run that is refused or not, against what is expected, is told by that alone. Faults of the
    expected rows are added to `faults`.
    """
    if (happened.refusal is not None) != example.is_refusal:
        return
    for what, expected in example.expected.items():
        found = compare(what, expected, happened.rows[what], faults)
        if found is not None:
            yield found


def _listed(names: tuple[str, ...]) -> str:
    """Return names for people."""
    return ", ".join(f"`{name}`" for name in names)
