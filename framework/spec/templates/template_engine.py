"""SQL templates: Jinja, in a sandbox and within bounds.

Templates know the variables of the spec as `var.x`, typed, and nothing else: no clock, no
environment, no files, so that the same spec gives the same SQL on every machine. `template_check`
says what a template may consist of, and why that bounds it. What only shows while it runs is
counted here: turns of loops, length of what gets a name, length of what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from framework.spec.document.scalars import ScalarValue
from framework.spec.templates import template_words
from framework.spec.templates.template_check import MARK, REFERENCE_INSIDE, TemplateFault, TreeCheck

__all__ = ["MAX_RENDERED", "MAX_STEPS", "MAX_TEMPLATE", "Rendered", "as_template", "render"]

MAX_TEMPLATE = 100_000
"""Characters that a template may have."""

MAX_RENDERED = 1_000_000
"""Characters that may come out of one."""

MAX_STEPS = 50_000
"""Parts of loop bodies that may be run in all, which takes a second at the very most."""

_CODE = "<template>"
_FAULTS = (
    *(TemplateError, template_words.TemplateValueError, RecursionError),
    *(TypeError, ValueError, LookupError, ArithmeticError),
)
_OPENING = re.compile(r"\{(?=[{%#])")
_NAMELESS = re.compile(r".*'([^']*)'(?: is undefined)?")
_CHARACTERS_A_STEP = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The result of a template.

    Attributes:
        text: the finished text; empty where there are faults.
        uses: the variables that the template names, whether or not they are there.
        faults: what is wrong with it, by line.
    """

    text: str = ""
    uses: frozenset[str] = frozenset()
    faults: tuple[TemplateFault, ...] = ()


def render(
    template: str, variables: Mapping[str, ScalarValue], *, closed: Collection[str] = ()
) -> Rendered:
    """The finished text, or the faults; `closed` are variables whose value is a secret."""
    if len(template) > MAX_TEMPLATE:
        message = f"the template has more than {MAX_TEMPLATE:,} characters"
        return _failed("template-limit", 1, message)
    steps = _Steps(left=MAX_STEPS)
    environment = _environment(steps)
    check = TreeCheck(known={*variables, *closed}, closed=closed)
    try:
        tree = environment.parse(template)
        faults = check.faults(tree)
        if faults:
            return Rendered(faults=faults, uses=frozenset(check.uses))
        _count_turns(tree)
        runnable = environment.from_string(tree)
        text = _joined(runnable.generate(var=_Variables(variables)))
    except RecursionError:
        return _failed("template-limit", 1, "the template is nested too deeply")
    except _FAULTS as error:
        return _told(error)
    return Rendered(text=text, uses=frozenset(check.uses))


class _Variables:
    """The variables, reached as `var.x`; an object without attributes, so that no name is taken."""

    __slots__ = ("__values",)

    def __init__(self, values: Mapping[str, ScalarValue]) -> None:
        self.__values = values

    def __getitem__(self, name: str) -> ScalarValue:
        return self.__values[name]


@dataclass(slots=True, kw_only=True)
class _Steps:
    """How many steps loops and filters may still take."""

    left: int

    def through(self, items: object, steps: int) -> Iterator[object]:
        """The items of a list, each of which costs the steps of the loop's body."""
        if not isinstance(items, list | tuple | range):
            raise template_words.TemplateValueError(
                "a loop goes over a list; `| split(',')` makes one of text"
            )
        for item in items:
            self._take(steps)
            yield template_words.bounded(item)

    def charging(self, word: Callable[..., object]) -> Callable[..., object]:
        """The filter, paid for by the length of what it is given."""

        def charged(value: object, *arguments: object) -> object:
            length = len(value) if isinstance(value, str | list | tuple) else 0
            self._take(length // _CHARACTERS_A_STEP)
            return word(value, *arguments)

        return charged

    def _take(self, steps: int) -> None:
        """Count some steps."""
        self.left -= steps
        if self.left < 0:
            raise template_words.TemplateLimitError(f"loops take more than {MAX_STEPS:,} steps")


def _environment(steps: _Steps) -> ImmutableSandboxedEnvironment:
    """A sandbox with our few words; made anew for each template, as it counts steps."""
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        finalize=template_words.shown,
        keep_trailing_newline=True,
        optimized=False,
        cache_size=0,
    )
    words = {name: steps.charging(word) for name, word in template_words.FILTERS.items()}
    environment.filters = {**words, "_through": steps.through, "_bounded": template_words.bounded}
    environment.tests = dict(template_words.TESTS)
    environment.globals = {"range": _range}
    return environment


def _range(*limits: int) -> range:
    """Python's, of bounded length."""
    numbers = range(*limits)
    if len(numbers) > template_words.MAX_ITEMS:
        raise template_words.TemplateLimitError(
            f"a range of more than {template_words.MAX_ITEMS:,} numbers"
        )
    return numbers


def _count_turns(tree: nodes.Template) -> None:
    """Have every loop count its turns, and every name ask for its value's length."""
    for loop in list(tree.find_all(nodes.For)):
        steps = sum(1 for _ in loop.find_all(nodes.Node))
        loop.iter = _filtered(loop.iter, "_through", nodes.Const(steps))
    for assignment in list(tree.find_all(nodes.Assign)):
        assignment.node = _filtered(assignment.node, "_bounded")


def _filtered(node: nodes.Node, name: str, *arguments: nodes.Node) -> nodes.Filter:
    """The expression with a filter put behind it."""
    place = {"lineno": node.lineno, "environment": node.environment}
    return nodes.Filter(node, name, list(arguments), [], None, None, **place)


def _joined(pieces: Iterator[str]) -> str:
    """The pieces as one text, taken only as long as they fit."""
    kept, length = [], 0
    for piece in pieces:
        length += len(piece)
        if length > MAX_RENDERED:
            raise template_words.TemplateLimitError(
                f"more than {MAX_RENDERED:,} characters come out"
            )
        kept.append(piece)
    return "".join(kept)


def _failed(rule: str, line: int, message: str) -> Rendered:
    """One fault."""
    return Rendered(faults=(TemplateFault(rule=rule, line=line, message=message),))


def _told(error: Exception) -> Rendered:
    """The exception as a fault with the line of the template."""
    if isinstance(error, TemplateSyntaxError):
        stray = repr(MARK)[1:-1] in str(error.message)
        message = REFERENCE_INSIDE if stray else f"not Jinja: {error.message}"
        return _failed("bad-template", error.lineno, message)
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _CODE:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, UndefinedError):
        message = _NAMELESS.sub(r"`\1` has no value here", str(error))
        return _failed("undefined-variable", line, message)
    limit = isinstance(error, template_words.TemplateLimitError)
    return _failed("template-limit" if limit else "bad-template", line, str(error))


def as_template(text: str) -> str:
    """The template that gives the text back, whatever is in it."""
    return _OPENING.sub("{{ '{' }}", text)
