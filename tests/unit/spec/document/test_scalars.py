"""What unquoted YAML scalars mean."""

from __future__ import annotations

import math

import pytest

from framework.spec.document.scalars import ScalarValue, core_scalar, quoted, scalar_text


@pytest.mark.parametrize(
    "text",
    [
        *("no", "on", "yes", "off", "y", "N", "True1", "tRUE", "nULL"),
        *(
            "12:30",
            "1:2:3",
            "010",
            "00",
            "-01",
            "01.5",
            "1_000",
            "0b1",
            "0o8",
            "0xg",
            "-0x1",
            "0X1F",
        ),
        *(
            "2026-10-01",
            "2026-10-01T00:00:00Z",
            "1.2.3",
            "1e",
            "e1",
            "..",
            ".",
            "-",
            "+",
            "NaN",
            "inf",
        ),
        *("a b", "=", "<<", "٣", "1 "),
    ],
)
def test_scalar_that_looks_like_text_stays_text(text: str) -> None:
    """YAML 1.1's booleans, octals, sexagesimals and dates are text, and so are its near misses."""
    assert core_scalar(text) == text
    assert type(core_scalar(text)) is str


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[(word, None) for word in ("", "~", "null", "Null", "NULL")],
        *[(word, True) for word in ("true", "True", "TRUE")],
        *[(word, False) for word in ("false", "False", "FALSE")],
        *[("0", 0), ("-7", -7), ("+42", 42), ("0o17", 15), ("0xFF", 255)],
        *[("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63))],
        *[("1.5", 1.5), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("-1E-3", -0.001), ("0.0", 0.0)],
        *[(".inf", math.inf), ("-.INF", -math.inf), ("+.Inf", math.inf)],
    ],
)
def test_scalar_of_the_core_schema_has_its_type(text: str, value: ScalarValue) -> None:
    """Null, booleans, integers and floats are what YAML 1.2 says."""
    assert core_scalar(text) == value
    assert type(core_scalar(text)) is type(value)


def test_nan_is_a_float() -> None:
    """`.nan` equals nothing, itself included, so it has its own test."""
    value = core_scalar(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    "text",
    ["9223372036854775808", "-9223372036854775809", "9" * 5000, "0x" + "f" * 100_000, "1e999"],
)
def test_number_beyond_64_bits_overflows(text: str) -> None:
    """Numbers that nothing can hold are refused before any costly conversion."""
    with pytest.raises(OverflowError):
        core_scalar(text)


@pytest.mark.parametrize(
    "text", ["a", "a/b", "a b", "true", "8", "it's", "${var.x}", "", "~", "#", "-"]
)
def test_quoted_text_is_read_back_as_itself(text: str) -> None:
    """A suggestion that is pasted means the text."""
    written = quoted(text)
    if written.startswith("'"):
        assert written[1:-1].replace("''", "'") == text
    else:
        assert core_scalar(written) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (False, "false"), (8, "8"), (0.5, "0.5"), ("x", "x")],
)
def test_scalar_inside_text_is_spelled_as_in_yaml(value: ScalarValue, text: str) -> None:
    """Booleans are lower case, as Spark and YAML want them."""
    assert scalar_text(value) == text
