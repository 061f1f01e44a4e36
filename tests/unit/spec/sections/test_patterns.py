"""Patterns of specs take time that grows with the text alone."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.spec.sections.fields import PatternError, compile_pattern

SLOW = (
    "(a+)+$",
    "(a|a)*$",
    "(a|aa)+$",
    "(a*)*b",
    "([a-z]+)*=",
    "(.*a){20}",
    "a*a*a*a*a*a*a*a*a*a*c",
    "(x+x+)+y|(a+a+)+c",
)
TEXT = "a" * 50 + "b"


@pytest.mark.parametrize("pattern", SLOW)
def test_fullmatch_of_a_pattern_with_exponential_cost_elsewhere_ends(pattern: str) -> None:
    """Each takes Python's own engine from seconds to years; a tenth of a second is plenty."""
    compiled = compile_pattern(pattern)
    began = time.process_time()
    assert compiled.fullmatch(f"{TEXT}!") is None
    compiled.search(f"{TEXT}!")
    assert time.process_time() - began < 0.1


@pytest.mark.parametrize(
    "text",
    ["(", "a)", "[a", "(?=a)", "(?<!a)b", r"(a)\1", "(?P=x)", "a{1001}", "x*+", "(?>a)", "\ud800"],
)
def test_compile_pattern_of_what_re2_does_not_know_raises(
    text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Look-around and back-references are refused, with a reason and nothing on stderr."""
    with pytest.raises(PatternError) as caught:
        compile_pattern(text)
    assert str(caught.value)
    assert capfd.readouterr().err == ""


@given(st.from_regex(r"[a-c.|*+?]{1,12}", fullmatch=True), st.text("abc", max_size=8))
@pytest.mark.property
def test_fullmatch_of_a_pattern_that_both_engines_know_is_that_of_python(
    pattern: str, text: str
) -> None:
    """Whether a whole text matches does not depend on the engine."""
    try:
        expected, found = re.compile(pattern), compile_pattern(pattern)
    except (re.error, PatternError):
        return
    assert (found.fullmatch(text) is None) == (expected.fullmatch(text) is None)
    assert (found.search(text) is None) == (expected.search(text) is None)
