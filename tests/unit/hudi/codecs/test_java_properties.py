"""Java's properties text against `java.util.Properties`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.codecs.java_properties import parse, parse_pairs, render
from tests.support.codec_vectors import codec_vectors

VECTORS = codec_vectors("1.2.0")


def test_properties_parsed_equal_what_java_loads() -> None:
    """Continuations, separators, comments and escapes are Java's, in every mixture."""
    wrong = [case for case in VECTORS["properties"] if parse(case["text"]) != case["entries"]]
    assert wrong == []


def test_properties_rendered_equal_what_java_stores() -> None:
    """Spaces, separators, controls and characters beyond ASCII are escaped as Java does."""
    wrong = [c for c in VECTORS["stored"] if render({c["key"]: c["value"]}) != c["line"]]
    assert wrong == []


@pytest.mark.property
@given(st.dictionaries(st.text(max_size=12), st.text(max_size=20), max_size=8))
def test_properties_rendered_and_parsed_are_the_same(pairs: dict[str, str]) -> None:
    """Any entries come back, in their order, from text that is plain ASCII."""
    text = render(pairs, ["by é\n=not an entry", "twice"])
    assert text.isascii()
    assert parse_pairs(text) == list(pairs.items())


@pytest.mark.property
@given(st.text(alphabet="ab\\=: #!\n\r\t\fu0041é", max_size=60))
def test_properties_of_any_text_parse_or_are_refused(text: str) -> None:
    """Only the typed error comes out, and what was parsed can be rendered and parsed again."""
    try:
        pairs = parse(text)
    except CorruptFileError as error:
        if error.condition != "properties/bad-escape":
            raise
    else:
        assert parse(render(pairs)) == pairs


def test_properties_with_a_key_twice_keep_the_last_and_show_both() -> None:
    """Java keeps the last; callers that refuse duplicates can see them."""
    assert parse("a=1\nb=2\na=3\n") == {"a": "3", "b": "2"}
    assert parse_pairs("a=1\na=3") == [("a", "1"), ("a", "3")]


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\u12g4", "\\u=1", "a=\\u" + "\u0661" * 4])
def test_properties_with_a_cut_unicode_escape_are_refused(text: str) -> None:
    """Java calls it malformed; so do we."""
    with pytest.raises(CorruptFileError) as caught:
        parse(text)
    assert caught.value.condition == "properties/bad-escape"
