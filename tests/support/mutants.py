"""Tables of which one file is damaged at a time, and what reading them gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from framework.errors import FrameworkError
from tests.support.writing import rows_of

__all__ = ["DAMAGES", "Mutant", "Subject", "mutants"]


def flip(data: bytes, rng: Random) -> bytes:
    """Turn one bit."""
    at = rng.randrange(len(data))
    return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]


def blank(data: bytes, rng: Random) -> bytes:
    """Make a run of bytes zero."""
    at = rng.randrange(len(data))
    size = min(rng.choice((1, 2, 8, 64, 512, 4096)), len(data) - at)
    return data[:at] + bytes(size) + data[at + size :]


def cut(data: bytes, rng: Random) -> bytes:
    """Leave out an end."""
    return data[: rng.randrange(len(data))]


def extend(data: bytes, rng: Random) -> bytes:
    """Append bytes: zeros, noise, or the file's own."""
    size = rng.choice((1, 8, 100))
    return data + rng.choice((bytes(size), rng.randbytes(size), data[:size]))


def swap(data: bytes, rng: Random) -> bytes:
    """Exchange two ranges of equal size."""
    size = rng.choice((1, 4, 16, 64))
    if len(data) < 2 * size:
        return flip(data, rng)
    one = rng.randrange(len(data) - 2 * size + 1)
    other = rng.randrange(one + size, len(data) - size + 1)
    moved = data[other : other + size] + data[one + size : other] + data[one : one + size]
    return data[:one] + moved + data[other + size :]


def delete(_data: bytes, _rng: Random) -> None:
    """Remove the file."""
    return


DAMAGES: dict[str, Callable[[bytes, Random], bytes | None]] = {
    "flip": flip,
    "blank": blank,
    "cut": cut,
    "extend": extend,
    "swap": swap,
    "delete": delete,
}
_CHANCES = {"flip": 12, "blank": 4, "cut": 2, "extend": 1, "swap": 3, "delete": 1}


def rows_text(location: str) -> list[str]:
    """Return all rows so that they can be compared, in the order of their text."""
    return sorted(map(repr, rows_of(location)))


@dataclass(kw_only=True)
class Subject:
    """A table without damage.

    Attributes:
        location: of the table.
        files: what is damaged, by kind.
        read: gives the rows of a table, in a set order.
        rows: what it gave when nothing was damaged.
    """

    location: Path
    files: dict[str, list[Path]]
    read: Callable[[str], list[str]] = rows_text
    rows: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read once."""
        self.rows = self.read(str(self.location))
        assert self.rows


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One damaged file.

    Attributes:
        kind: of the file.
        path: of the file.
        damage: name of what was done to it.
        outcome: `right`, `wrong`, the condition of a typed error, or the name of any other class.
        detail: what to look at where the outcome is neither `right` nor typed.
    """

    kind: str
    path: Path
    damage: str
    outcome: str
    detail: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether the rows are right or the error is typed."""
        return self.outcome == "right" or "/" in self.outcome


def mutants(subject: Subject, count: int, rng: Random) -> Iterator[Mutant]:
    """Damage one file of a table at a time, each kind as often as any other, and read the table.

    Each file is whole again before the next one is damaged.
    """
    kinds = sorted(subject.files)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        path = rng.choice(subject.files[kind])
        kept = path.read_bytes()
        (damage,) = rng.choices([*_CHANCES], weights=[*_CHANCES.values()]) if kept else ("extend",)
        damaged = DAMAGES[damage](kept, rng)
        if damaged == kept:
            continue
        try:
            yield _tried(subject, kind, path, damage, damaged)
        finally:
            path.write_bytes(kept)


def _tried(subject: Subject, kind: str, path: Path, damage: str, data: bytes | None) -> Mutant:
    """Damage a file and read the table."""
    path.unlink() if data is None else path.write_bytes(data)
    try:
        found = subject.read(str(subject.location))
    except FrameworkError as error:
        return Mutant(kind=kind, path=path, damage=damage, outcome=error.condition)
    except Exception as error:  # noqa: BLE001 - this is what must not be
        name, detail = type(error).__name__, repr(error)[:300]
        return Mutant(kind=kind, path=path, damage=damage, outcome=name, detail=detail)
    if found == subject.rows:
        return Mutant(kind=kind, path=path, damage=damage, outcome="right")
    lost, more = sorted({*subject.rows} - {*found}), sorted({*found} - {*subject.rows})
    detail = f"{len(lost)} rows are lost: {lost[:1]}, {len(more)} are other ones: {more[:1]}"
    return Mutant(kind=kind, path=path, damage=damage, outcome="wrong", detail=detail)
