"""SQL templates: Jinja, sandboxed and bounded.

Templates see the typed variables of the spec as `var.x`, and nothing else: no clock, no
environment, no files, so that the same spec gives the same SQL on every machine. `template_check`
defines the allowed contents of a template, and why that bounds it. What is known only at run time
is counted here: iterations of loops, length of named values, length of the result.
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
"""Maximum length of a template, in characters."""

MAX_RENDERED = 1_000_000
"""Maximum length of a rendered template, in characters."""

MAX_STEPS = 50_000
"""Maximum number of nodes of loop bodies that run in total, which takes at most a second."""

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
        text: the finished text; empty if there are faults.
        uses: the variables that the template uses, defined or not.
        faults: its faults, by line.
    """

    text: str = ""
    uses: frozenset[str] = frozenset()
    faults: tuple[TemplateFault, ...] = ()


def render(
    template: str, variables: Mapping[str, ScalarValue], *, closed: Collection[str] = ()
) -> Rendered:
    """Return the finished text, or the faults; `closed` are variables whose value is a secret."""
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
        return _failure_of(error)
    return Rendered(text=text, uses=frozenset(check.uses))


class _Variables:
    """The variables, as `var.x`; an object without attributes, so that no name is taken."""

    __slots__ = ("__values",)

    def __init__(self, values: Mapping[str, ScalarValue]) -> None:
        self.__values = values

    def __getitem__(self, name: str) -> ScalarValue:
        return self.__values[name]


@dataclass(slots=True, kw_only=True)
class _Steps:
    """The number of steps that loops and filters may still take."""

    left: int

    def through(self, items: object, steps: int) -> Iterator[object]:
        """Yield the items of a list, each of which costs the steps of the loop's body."""
        if not isinstance(items, list | tuple | range):
            raise template_words.TemplateValueError(
                "a loop needs a list; `| split(',')` turns text into one"
            )
        for item in items:
            self._take(steps)
            yield template_words.bounded(item)

    def charging(self, word: Callable[..., object]) -> Callable[..., object]:
        """Return the filter, charged by the length of its input."""

        def charged(value: object, *arguments: object) -> object:
            length = len(value) if isinstance(value, str | list | tuple) else 0
            self._take(length // _CHARACTERS_A_STEP)
            return word(value, *arguments)

        return charged

    def _take(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise template_words.TemplateLimitError(f"loops take more than {MAX_STEPS:,} steps")


def _environment(steps: _Steps) -> ImmutableSandboxedEnvironment:
    """Return a sandbox with the supported words, new for each template because it counts steps."""
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
    """Return Python's range, of bounded length."""
    numbers = range(*limits)
    if len(numbers) > template_words.MAX_ITEMS:
        raise template_words.TemplateLimitError(
            f"a range of more than {template_words.MAX_ITEMS:,} numbers"
        )
    return numbers


def _count_turns(tree: nodes.Template) -> None:
    """Make every loop count its iterations, and every assignment check its value's length."""
    for loop in list(tree.find_all(nodes.For)):
        steps = sum(1 for _ in loop.find_all(nodes.Node))
        loop.iter = _filtered(loop.iter, "_through", nodes.Const(steps))
    for assignment in list(tree.find_all(nodes.Assign)):
        assignment.node = _filtered(assignment.node, "_bounded")


def _filtered(node: nodes.Node, name: str, *arguments: nodes.Node) -> nodes.Filter:
    """Return the expression with a filter applied."""
    place = {"lineno": node.lineno, "environment": node.environment}
    return nodes.Filter(node, name, list(arguments), [], None, None, **place)


def _joined(pieces: Iterator[str]) -> str:
    """Return the pieces as one text; stop as soon as it is too long."""
    kept, length = [], 0
    for piece in pieces:
        length += len(piece)
        if length > MAX_RENDERED:
            raise template_words.TemplateLimitError(
                f"the result is longer than {MAX_RENDERED:,} characters"
            )
        kept.append(piece)
    return "".join(kept)


def _failed(rule: str, line: int, message: str) -> Rendered:
    return Rendered(faults=(TemplateFault(rule=rule, line=line, message=message),))


def _failure_of(error: Exception) -> Rendered:
    """Return the exception as a fault with the line of the template."""
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
    """Return a template that renders to the text, whatever it contains."""
    return _OPENING.sub("{{ '{' }}", text)
