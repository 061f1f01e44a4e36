"""Foreign text: bounded, visible, and fit for every parser."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.engine.reporting.words import block_text, cut, line_text, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 表 📞", "plain é 表 📞"),
        ("a\nb\tc", "a⏎b⇥c"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\u202eexe.txt", "\\u202eexe.txt"),
        ("lone \ud800", "lone \ufffd"),
    ],
)
def test_line_text_of_odd_characters_shows_them(text: str, shown: str) -> None:
    """Nothing steers a terminal, turns the direction of writing, or cannot be encoded."""
    assert line_text(text) == shown


def test_block_text_keeps_line_breaks() -> None:
    """SQL stays readable."""
    assert block_text("SELECT 1\r\nFROM t") == "SELECT 1\nFROM t"


def test_cut_of_a_long_text_says_how_long_it_was() -> None:
    """The bound itself is not cut."""
    assert cut("abc", 3) == "abc"
    assert cut("a" * 5000, 3) == "aaa… (5,000 characters)"


@pytest.mark.property
@given(st.text(max_size=300), st.integers(1, 50))
def test_line_text_of_any_text_is_one_short_line(text: str, most: int) -> None:
    """An escape has six characters at most."""
    shown = line_text(text, most)
    assert len(shown.splitlines()) <= 1
    assert len(shown) <= 6 * most + 40
    shown.encode()


def test_plain_of_odd_values_is_strict_json() -> None:
    """Numbers that JSON has not, keys that are no text, and sets become what it has."""
    odd = {1: float("nan"), "x": (float("inf"), {2}), "\ud800": b"bytes", "d": None, "b": True}
    found = plain(odd)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found == {"1": "nan", "x": ["inf", [2]], "\ufffd": "b'bytes'", "d": None, "b": True}
