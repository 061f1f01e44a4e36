"""Exit codes: one table, and the gravest of several."""

from __future__ import annotations

import pytest

from framework import errors
from framework.cli.exits import EXIT_CODES, epilog, gravest


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], 0),
        ([0, 0], 0),
        ([1, 6], 6),
        ([6, 3, 1], 3),
        ([3, 4], 4),
        ([4, 5, 3], 5),
        ([5, 7], 7),
        ([7, 70], 70),
        ([70, 143, 5], 143),
        ([0, 2], 2),
    ],
)
def test_gravest_of_several_codes_follows_the_order(codes: list[int], expected: int) -> None:
    """5, 4, 3, 6, 1; the unknown and the unexpected are graver, interruptions gravest."""
    assert gravest(codes) == expected
    assert gravest(codes[::-1]) == expected


def test_exit_codes_of_all_error_classes_are_in_the_table() -> None:
    """No error ends with a code that the help does not explain."""
    classes = (getattr(errors, name) for name in errors.__all__ if name.endswith("Error"))
    assert {each.exit_code for each in classes} <= set(EXIT_CODES)


def test_epilog_is_one_block_with_a_line_for_each_code() -> None:
    """Each code has its own line, without empty lines between."""
    lines = epilog().splitlines()
    assert len(lines) == len(EXIT_CODES) + 2
    assert all(line.strip("\b") or number == 0 for number, line in enumerate(lines))
