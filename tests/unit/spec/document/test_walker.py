"""YAML text as a tree with positions, and what of YAML is refused."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import Finding, SpecError
from framework.spec.document.findings import MAX_FINDINGS, FindingList
from framework.spec.document.positions import ListNode, MapNode, Node, ScalarNode
from framework.spec.document.source import SourceText, read_source
from framework.spec.document.walker import MAX_DEPTH, parse


def walked(text: str) -> tuple[Node | None, tuple[Finding, ...]]:
    """Tree and findings of a text."""
    findings = FindingList()
    return parse(SourceText.of("x.yml", text), findings), findings.errors


def plain(node: Node | None) -> Any:
    """The tree as Python data."""
    match node:
        case MapNode():
            return {entry.name: plain(entry.value) for entry in node.entries}
        case ListNode():
            return [plain(item) for item in node.items]
        case ScalarNode():
            return node.value
        case None:
            return None


TEXT = st.text(
    st.characters(
        min_codepoint=0x20,
        exclude_categories=["Cs", "Cc", "Co", "Cn", "Zl", "Zp"],
        exclude_characters="$\ufeff",
    ),
    max_size=12,
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def spelled(value: Any) -> str:
    """The value as JSON with its characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def written(value: Any, indent: str = "") -> str:
    """The value as block YAML, texts in double quotes."""
    if isinstance(value, dict) and value:
        pairs = (f"{indent}{spelled(k)}:{nested(v, indent)}" for k, v in value.items())
        return "".join(pairs)
    if isinstance(value, list) and value:
        return "".join(f"{indent}-{nested(v, indent)}" for v in value)
    return f"{indent}{spelled(value)}\n"


def nested(value: Any, indent: str) -> str:
    """What follows a key or a dash: the rest of the line, or an indented block."""
    if isinstance(value, dict | list) and value:
        return "\n" + written(value, indent + "  ")
    return f" {spelled(value)}\n"


@pytest.mark.property
@given(VALUES)
def test_block_yaml_of_any_plain_value_is_read_as_that_value(value: Any) -> None:
    """parse(written(x)) is x, with its types."""
    tree, findings = walked(written(value))
    assert findings == ()
    assert json.dumps(plain(tree)) == json.dumps(value)


@pytest.mark.property
@given(VALUES)
def test_json_is_read_as_yaml(value: Any) -> None:
    """Flow style is JSON's superset: what JSON writes is read back."""
    tree, findings = walked(spelled(value))
    assert findings == ()
    assert json.dumps(plain(tree)) == json.dumps(value)


MARKUP = st.text(
    st.sampled_from("a1:-?[]{},&*!|>'\"%@`#\n\t $\ufffd\u2028é😀\x7f\x85\\") | st.characters(),
    max_size=60,
)


@pytest.mark.property
@given(MARKUP)
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text ends in another error than findings, and each finding is at a place in it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.pipeline.yml")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        findings = FindingList()
        try:
            parse(read_source(path), findings)
        except SpecError as error:
            findings.extend(error.findings)
    for finding in findings.errors:
        assert finding.where.line is not None
        assert 1 <= finding.where.line <= len(SourceText.of("x.yml", text).lines)


@pytest.mark.property
@given(VALUES)
def test_span_of_each_scalar_is_where_it_is_written(value: Any) -> None:
    """The characters under a scalar's span are its own text in quotes, or its number."""
    text = spelled(value)
    tree, _ = walked(text)

    def check(node: Node) -> None:
        if isinstance(node, ScalarNode):
            span = node.span
            assert span.line == span.end_line == 1
            assert json.loads(text[span.column - 1 : span.end_column - 1]) == node.value
        for child in node.items if isinstance(node, ListNode) else ():
            check(child)
        for entry in node.entries if isinstance(node, MapNode) else ():
            check(entry.key)
            check(entry.value)

    assert tree is not None
    check(tree)


def test_reference_in_flow_style_is_named_and_the_rest_is_read() -> None:
    """Each unquoted reference is a finding with its quoted form; the values survive."""
    tree, findings = walked("a: {b: ${var.x}/c, d: [1, ${env.Y}]}\ne: ${var.z}\nf: '{${var.q}}'\n")
    assert [(f.rule, f.key_path, f.suggestion) for f in findings] == [
        ("spec/unquoted-reference", "a.b", "'${var.x}/c'"),
        ("spec/unquoted-reference", "a.d[1]", "'${env.Y}'"),
    ]
    assert plain(tree) == {
        "a": {"b": "${var.x}/c", "d": [1, "${env.Y}"]},
        "e": "${var.z}",
        "f": "{${var.q}}",
    }


@pytest.mark.parametrize("style", ["|", ">", "|-"])
def test_reference_in_a_block_scalar_is_text(style: str) -> None:
    """Literal and folded text keep their references."""
    tree, findings = walked(f"a: {style}\n  x ${{var.x}}\n  y\n")
    assert findings == ()
    assert isinstance(tree, MapNode)
    assert "${var.x}" in plain(tree)["a"]


def test_depth_limit_is_exact() -> None:
    """Fifty levels are read; the fifty-first is a finding, however many follow."""
    assert walked("[" * MAX_DEPTH + "]" * MAX_DEPTH)[1] == ()
    for depth in (MAX_DEPTH + 1, 100_000):
        (finding,) = walked("[" * depth + "]" * depth)[1]
        assert (finding.rule, finding.where.column) == ("spec/yaml-too-deep", MAX_DEPTH + 1)


BILLION = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        BILLION,
        "&x [*x]",
        "a: " + "1:" * 90_000 + "1",
        "? " * 400_000,
        "[" * 900_000,
        "{" * 900_000,
        "- " * 400_000,
        "a: 1\n" * 60_000,
        "${" * 400_000,
        "${a}" * 200_000,
        "'" + "${var.x}" * 100_000 + "'",
        "!!python/object/apply:os.system [ls]",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_answered_quickly(text: str) -> None:
    """Bombs of every kind end within seconds, without building what they describe."""
    begin = time.process_time()
    walked(text)
    assert time.process_time() - begin < 10


def test_number_of_findings_is_bounded() -> None:
    """A file of faults is not reported line by line without end."""
    assert len(walked("a: 1\n" * 10_000)[1]) == MAX_FINDINGS


def test_null_bool_int_float_and_text_have_their_types() -> None:
    """Quoted scalars are text whatever they look like."""
    tree, _ = walked("[~, true, 8, 1.5, .inf, no, '8', \"true\", '', 2026-10-01]")
    assert plain(tree) == [None, True, 8, 1.5, math.inf, "no", "8", "true", "", "2026-10-01"]


def test_windows_line_ends_do_not_move_positions() -> None:
    """CRLF is one line break."""
    _, (finding,) = walked("a: 1\r\nb: 2\r\na: 3\r\n")
    assert (finding.where.line, finding.where.column, finding.source_line) == (3, 1, "a: 3")


def test_columns_count_characters() -> None:
    """An emoji before a fault is one column."""
    _, (finding,) = walked("{a: '😀é', a: 1}")
    assert finding.where.column == 11
