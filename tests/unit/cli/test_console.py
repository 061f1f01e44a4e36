"""Long lines wrap between words on a terminal, and stay whole elsewhere."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from framework.cli.render.console import clean, write


def wrapped(text: str, width: int, *, terminal: bool = True, hang: int | None = None) -> list[str]:
    """Return the lines that a console of this width shows."""
    file = StringIO()
    console = Console(
        file=file,
        width=width,
        force_terminal=terminal,
        color_system=None,
        soft_wrap=True,
        highlight=False,
    )
    write(console, text, hang=hang)
    return file.getvalue().splitlines()


def test_line_off_a_terminal_stays_whole() -> None:
    """So that grep finds what it says."""
    text = "   1 skeletons   " + "word " * 50 + "end"
    assert wrapped(text, 40, terminal=False) == [text]


def test_continued_line_hangs_below_what_follows_its_label() -> None:
    """A label ends with two spaces."""
    lines = wrapped("   1 skeletons   twelve partitions and more of them", 40)
    assert len(lines) == 2
    assert lines[0].startswith("   1 skeletons   twelve")
    assert lines[1] == " " * 17 + "more of them"


def test_line_without_a_label_is_continued_two_columns_in() -> None:
    """So that the next line is seen to be another."""
    lines = wrapped("one two three four five six seven", 20)
    assert all(line.startswith("  ") for line in lines[1:])


def test_warning_hangs_behind_its_mark() -> None:
    """Three spaces, a mark and a space."""
    lines = wrapped("   ! one two three four five six seven", 20)
    assert lines[1].startswith(" " * 5)


@pytest.mark.property
@given(
    st.text(st.sampled_from("ab !:,é表"), max_size=200),
    st.integers(8, 60),
    st.none() | st.integers(0, 30),
)
def test_no_word_is_lost_and_no_line_too_wide(text: str, width: int, hang: int | None) -> None:
    """Whatever the text, all but spaces comes out in order, within the width."""
    lines = wrapped(text, width, hang=hang)
    assert "".join("".join(lines).split()) == "".join(text.split())
    wide = {"表": 2}
    assert all(sum(wide.get(c, 1) for c in line) <= width for line in lines)


def test_clean_escapes_control_characters_only() -> None:
    """Lines and tabs stay."""
    assert clean("a\tb\n\x1b[1mé\x7f") == "a\tb\n\\x1b[1mé\\x7f"
