"""SQL templates: what they can say, what they cannot, and that they end."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.spec.document.scalars import ScalarValue
from framework.spec.templates.template_check import MAX_NODES, TemplateFault
from framework.spec.templates.template_engine import MAX_RENDERED, MAX_TEMPLATE, as_template, render

VARIABLES: dict[str, ScalarValue] = {
    "day": "2026-10-01",
    "columns": "a, b,c",
    "year": 2026,
    "full": True,
    "share": 0.5,
    "items": "x",
    "_x": "y",
    "many": "a," * 9_999,
    "long": "b" * 20_000,
}


def text_of(template: str) -> str:
    """The text of a template without faults."""
    rendered = render(template, VARIABLES)
    assert rendered.faults == ()
    return rendered.text


def fault_of(template: str) -> TemplateFault:
    """The only fault of a template."""
    rendered = render(template, VARIABLES, closed={"token"})
    assert rendered.text == ""
    (fault,) = rendered.faults
    return fault


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a\r\nb\n", "a\nb\n"),
        (
            "{{ var.day }} {{ var['day'] }} {{ var.items }} {{ var._x }}",
            "2026-10-01 2026-10-01 x y",
        ),
        ("{{ var.year }} {{ var.full }} {{ var.share }}", "2026 true 0.5"),
        (
            "{{ var.year - 1 }} {{ -var.year }} {{ var.day ~ '!' }} {{ 'a' 'b' }}",
            "2025 -2026 2026-10-01! ab",
        ),
        ("{{ var.day[:7] }} {{ [1, 2][0] }}", "2026-10 1"),
        ("{% if var.year >= 2026 and var.full %}a{% else %}b{% endif %}", "a"),
        ("{% if 'x' in ['x', 'y'] and not false %}a{% elif true %}b{% endif %}", "a"),
        ("{{ 'a' if var.year == 1 else 'b' }}", "b"),
        ("{% if var.no is defined %}{{ var.no }}{% endif %}{{ var.no is undefined }}", "true"),
        ("{{ var.no | default('d') }} {{ var.year | default(1) }}", "d 2026"),
        (
            "{% for c in var.columns | split %}{{ c }}{% if loop.first %}+{% endif %}{% endfor %}",
            "a+bc",
        ),
        (
            "{% for n, t in [('id', 'INT'), ('ts', 'DATE')] %}{{ n }} {{ t }};{% endfor %}",
            "id INT;ts DATE;",
        ),
        (
            "{% for i in range(1, 4) if i != 2 %}{{ i }}/{{ loop.length }} {% else %}-{% endfor %}",
            "1/2 3/2 ",
        ),
        ("{% for i in [] %}{{ i }}{% else %}none{% endfor %}", "none"),
        ("{% set a = 1 %}{{ a | default(2) }}{{ [3][0] | default(4) }}", "13"),
        ("{% set t = var.day ~ '_t' %}{{ t | upper | lower | trim }}", "2026-10-01_t"),
        (
            "{{ ['a', 1] | join(', ') }} {{ 'a-b' | replace('-', '_') }} {{ '7' | int + 1 }}",
            "a, 1 a_b 8",
        ),
        ("{{ 'abc' | length }} {{ '' | split | length }} {{ range(3) | join }}", "3 0 012"),
        ("{# {{ var.nothing }} #}{% raw %}{{ a }}{% endraw %}", "{{ a }}"),
        ("a{%- if true -%} b {%- endif %}", "ab"),
    ],
)
def test_template_gives_its_text(template: str, text: str) -> None:
    """Variables keep their type, and the words of the guide work."""
    assert text_of(template) == text


@pytest.mark.parametrize(
    ("template", "rule", "line", "suggestion"),
    [
        ("\n{{ var.dya }}", "undefined-variable", 2, "var.day"),
        ("{{ day }}", "undefined-variable", 1, "var.day"),
        ("{{ vars.day }}", "undefined-variable", 1, "var.day"),
        ("{{ env.HOME }}", "undefined-variable", 1, "var.HOME"),
        ("{% if var.no is defined %}{% endif %}\n{{ var.no }}", "undefined-variable", 2, None),
        ("{% for i in [1] %}{% set a = i %}{% endfor %}\n{{ a }}", "undefined-variable", 2, None),
        ("{{ [1][1] }}", "undefined-variable", 1, None),
        ("{{ var.token }}", "secret-not-allowed", 1, None),
        ("{% if var.token is defined %}{% endif %}", "secret-not-allowed", 1, None),
        ("a\n{{ 1", "bad-template", 2, None),
        ("{% if %}", "bad-template", 1, None),
        ("{% nothing %}", "bad-template", 1, None),
        ("{{ 1 | upper_ }}", "bad-template", 1, "upper"),
        ("{{ 1 is defined_ }}", "bad-template", 1, "defined"),
        ("{{ 'a' | split(sep=',') }}", "bad-template", 1, None),
        ("{{ 'a' | split(*[',']) }}", "bad-template", 1, None),
        ("{{ 'a' | replace('a') }}", "bad-template", 1, None),
        ("\n\n{{ 1 + 'a' }}", "bad-template", 3, None),
        ("{{ 'a' | int }}", "bad-template", 1, None),
        ("{{ none }}", "bad-template", 1, None),
        ("{{ [1] }}", "bad-template", 1, None),
        ("{{ 'a' | join }}", "bad-template", 1, None),
        ("{{ 'a' | replace('', 'b') }}", "bad-template", 1, None),
        ("{% for c in var.columns %}{% endfor %}", "bad-template", 1, None),
        ("{{ var }}", "bad-template", 1, None),
        ("{{ var[var.day] }}", "bad-template", 1, None),
        ("{% set var = 1 %}", "bad-template", 1, None),
        ("{{ '\ue0000\ue001' }}", "bad-template", 1, None),
        ("{{ \ue0000\ue001 }}", "bad-template", 1, None),
    ],
)
def test_fault_in_a_template_has_rule_line_and_suggestion(
    template: str, rule: str, line: int, suggestion: str | None
) -> None:
    """Names, values and Jinja itself, each with the line in the template."""
    fault = fault_of(template)
    assert (fault.rule, fault.line, fault.suggestion) == (rule, line, suggestion)


def test_faults_of_a_template_come_at_once() -> None:
    """By line, without repetition."""
    rendered = render("{{ a }}\n{% include 'x' %}{{ var.b }}\n{{ f({'a': g()}) }}", VARIABLES)
    assert [(f.rule, f.line) for f in rendered.faults] == [
        ("undefined-variable", 1),
        ("bad-template", 2),
        ("undefined-variable", 2),
        ("bad-template", 3),
        ("bad-template", 3),
    ]


@pytest.mark.parametrize(
    "template",
    [
        *("{{ var.day.__class__ }}", "{{ ''.__class__.__mro__ }}", "{{ ''['__class__'] }}"),
        *("{{ var.__init__ }}", "{{ var['__class__'] }}", "{{ self }}", "{{ ''['upper'] }}"),
        *("{{ lipsum() }}", "{{ cycler() }}", "{{ var.day.upper() }}", "{{ range.x }}"),
        *("{{ '%9d' % 1 }}", "{{ 'a' * 9 }}", "{{ 9 ** 9 }}", "{{ 9 / 3 }}", "{{ {'a': 1} }}"),
        *("{% include 'a' %}", "{% import 'a' as b %}", "{% from 'a' import b %}"),
        *("{% extends 'a' %}", "{% block a %}{% endblock %}", "{% macro a() %}{% endmacro %}"),
        *("{% set a %}{% endset %}", "{% filter upper %}{% endfilter %}", "{% set a.b = 1 %}"),
        *("{% with a = 1 %}{% endwith %}", "{% autoescape true %}{% endautoescape %}"),
        *("{% call a() %}{% endcall %}", "{{ 'a' | attr('b') }}", "{{ 1 | _bounded }}"),
        "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% for i in [1] %}{{ loop.cycle }}{% endfor %}",
        "{% set a = [1] %}{{ a['append'] }}",
    ],
)
def test_way_out_of_the_sandbox_is_closed(template: str) -> None:
    """No attributes, calls, files and macros, and no operators that make much of little."""
    rendered = render(template, VARIABLES)
    assert rendered.text == ""
    assert {fault.rule for fault in rendered.faults} <= {"bad-template", "undefined-variable"}
    assert rendered.faults


@pytest.mark.parametrize(
    "template",
    [
        "a" * (MAX_TEMPLATE + 1),
        "{{ 1 }}" * MAX_NODES,
        "{% for i in range(5000) %}{% for j in range(5000) %}{% endfor %}{% endfor %}",
        "{% for i in range(5000) %}{% if var.long ~ var.long == 'a' %}{% endif %}{% endfor %}",
        "{% for i in range(5000) %}{{ var.many | split(',') | length }}{% endfor %}",
        "{% for i in range(5000) %}{{ var.long }}{% endfor %}",
        "{{ " + " ~ ".join(["var.long"] * 2_400) + " }}",
        "{% set a = 'aa' %}" + "{% set a = a ~ a %}" * 40,
        "{% set a = [1, 2] %}" + "{% set a = [a, a] %}" * 40,
        "{% set a = [1, 2] %}" + "{% set a = a + a %}" * 40,
        "".join(f"{{% for a{i} in [var.long ~ var.long] %}}" for i in range(3))
        + "{% endfor %}" * 3,
        "{{ var.long | replace('b', var.long) }}",
        "{{ var.many | split(',') | join(var.long) }}",
        "{{ range(1000000000000) }}",
        "{% set a = var.many | split(',') %}",
        "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
        "{{ " + "not " * 5_000 + "1 }}",
        "{{ " + "+".join(["1"] * 100) + " }}",
        "{% if 1 %}" * 90 + "{% endif %}" * 90,
        "{% for i in [1] %}" * 7 + "{% endfor %}" * 7,
    ],
    ids=lambda template: template[:40],
)
def test_template_without_measure_is_stopped_soon(template: str) -> None:
    """A growing or endless template is refused by size, or stopped by cost."""
    begin = time.process_time()
    assert fault_of(template).rule == "template-limit"
    assert time.process_time() - begin < 3


def test_template_at_its_bounds_is_rendered() -> None:
    """The longest template, and the longest text that may come out."""
    assert len(text_of("a" * MAX_TEMPLATE)) == MAX_TEMPLATE
    loop = "{% for i in range(50) %}{{ var.long }}{% endfor %}"
    assert len(text_of(loop)) == MAX_RENDERED


def test_template_says_which_variables_it_names() -> None:
    """Whether they are there or not, and not those in comments."""
    rendered = render("{{ var.day }}{{ var['no'] | default('') }}{# var.year #}", VARIABLES)
    assert rendered.uses == {"day", "no"}


@pytest.mark.property
@given(st.text(alphabet="{}%#$'\"- a\n", max_size=40))
def test_text_as_a_template_gives_itself(text: str) -> None:
    """Whatever looks like Jinja in it."""
    assert render(as_template(text), {}).text == text


WORDS = (
    """{{ }} {% %} {# #} var .day for in set if end [ ] ( ) 'a' | split 1 + ~ is defined a = ,"""
)


@pytest.mark.property
@given(st.lists(st.sampled_from(WORDS.split()), max_size=25))
def test_any_template_is_rendered_or_refused(words: list[str]) -> None:
    """Any template results in text or faults."""
    rendered = render(" ".join(words), VARIABLES)
    assert rendered.text == "" or not rendered.faults
