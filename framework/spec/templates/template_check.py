"""What an SQL template may consist of, checked on its syntax tree before any of it runs.

A template of a spec is run by whoever validates a pull request, so it must end soon and must not
grow without bound. Neither threads nor signals can promise that: a thread cannot be stopped, and
a signal belongs to the main thread of a process that is not ours. So the language itself is small
enough to bound. Only the nodes below are allowed. Each of them takes time and room in proportion
to the values that it is given, and the length of a value that has a name is bounded; without
`*`, `**`, `%`, calls, macros and recursion nothing grows faster. Loops are the only thing that
does a node twice, and the nodes that they run are counted while they do (`templates`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from jinja2 import nodes

from framework.spec.document.findings import nearest
from framework.spec.templates.template_words import FILTERS, TESTS

__all__ = ["MARK", "MAX_NODES", "REFERENCE_INSIDE", "TemplateFault", "TreeCheck"]

MAX_NODES = 5_000
"""Parts that a template may have; one of several pages has some hundred."""

MAX_DEPTH = 60
"""How deep its parts may be nested; Python, which Jinja compiles to, ends at 100."""

MAX_LOOPS = 5
"""How deep loops may be nested; Python ends at 20."""

MARK = "\ue000"
"""Begins the mark that stands for a `${…}` reference; no spec holds the character itself."""

REFERENCE_INSIDE = "inside a Jinja expression a variable is `var.x`, without `${}`"
"""Why a mark is refused where Jinja would compute with it."""

_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign),
    *(nodes.Const, nodes.List, nodes.Tuple, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Slice),
    *(nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not),
    *(nodes.Concat, nodes.Add, nodes.Sub, nodes.Neg, nodes.Filter, nodes.Test, nodes.Call),
    nodes.Keyword,  # refused with the filter or the call that it is for
)
_SPELLED = {
    nodes.Mul: "`*`",
    nodes.Div: "`/`",
    nodes.FloorDiv: "`//`",
    nodes.Mod: "`%`",
    nodes.Pow: "`**`",
    nodes.Dict: "a mapping",
    nodes.CallBlock: "`call`",
    nodes.AssignBlock: "`set` with a block",
    nodes.FilterBlock: "`filter` with a block",
    nodes.FromImport: "`from`",
    nodes.NSRef: "a namespace",
    nodes.Scope: "`autoescape`",
}
_LOOP_WORDS = [
    ("loop", word)
    for word in ("index", "index0", "first", "last", "length", "revindex", "revindex0")
]
_RESERVED = ("var", "loop", "range")


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFault:
    """What is wrong in a template; `rule` comes without `spec/`, `line` counts from 1."""

    rule: str
    line: int
    message: str
    suggestion: str | None = None


@dataclass(slots=True, kw_only=True)
class TreeCheck:
    """One walk over a template's syntax tree.

    Attributes:
        known: the variables that there are.
        closed: those of them that hold a secret.
        uses: afterwards, the variables that the template names.
    """

    known: Collection[str]
    closed: Collection[str]
    uses: set[str] = field(default_factory=set)
    _guarded: set[str] = field(default_factory=set)
    _bound: set[str] = field(default_factory=set)

    def faults(self, tree: nodes.Template) -> tuple[TemplateFault, ...]:
        """Every fault, by line."""
        placed = list(_walk(tree))
        too_big = _too_big(placed)
        if too_big:
            return (too_big,)
        for node, _, _ in placed:
            self._note_names(node)
        found = [fault for node, _, _ in placed for fault in self._of(node)]
        return tuple(sorted(found, key=lambda fault: fault.line))

    def _note_names(self, node: nodes.Node) -> None:
        """Remember what gets a name, and which variables may be missing."""
        if isinstance(node, nodes.Name) and node.ctx == "store":
            self._bound.add(node.name)
        if isinstance(node, nodes.Test | nodes.Filter):
            asks = node.name in ("defined", "undefined", "default", "d")
            name = _variable(node.node) if asks and node.node is not None else None
            if name is not None:
                self._guarded.add(name)

    def _of(self, node: nodes.Node) -> Iterator[TemplateFault]:
        """The faults of one node."""
        if not isinstance(node, _ALLOWED):
            spelled = _SPELLED.get(type(node), f"`{type(node).__name__.lower()}`")
            yield _bad(node, f"{spelled} is not built into SQL templates")
        elif isinstance(node, nodes.Name):
            yield from self._of_name(node)
        elif isinstance(node, nodes.Getattr | nodes.Getitem):
            yield from self._of_access(node)
        elif isinstance(node, nodes.Call):
            yield from _of_call(node)
        elif isinstance(node, nodes.Filter):
            yield from _of_word(node, "filter", FILTERS)
        elif isinstance(node, nodes.Test):
            yield from _of_word(node, "test", TESTS)
        elif isinstance(node, nodes.Const) and isinstance(node.value, str) and MARK in node.value:
            yield _bad(node, REFERENCE_INSIDE)

    def _of_name(self, node: nodes.Name) -> Iterator[TemplateFault]:
        """A name that stands alone: bound here, or nothing."""
        if node.ctx == "store":
            if node.name in _RESERVED:
                yield _bad(node, f"`{node.name}` has a meaning already; take another name")
        elif node.name == "var":
            yield _bad(node, "`var` stands for all variables; name one, as in `var.x`")
        elif node.name not in self._bound:
            close = f"var.{node.name}" if node.name in self.known else None
            yield _undefined(node, close, node.name)

    def _of_access(self, node: nodes.Getattr | nodes.Getitem) -> Iterator[TemplateFault]:
        """`var.x` and `loop.first`; of other values only items."""
        target = node.node.name if isinstance(node.node, nodes.Name) else None
        if target == "var":
            name = _variable(node)
            if name is None:
                yield _bad(node, "the variable must be named, as in `var.x`")
            else:
                yield from self._of_variable(name, node.lineno)
        elif isinstance(node, nodes.Getattr) and (target, node.attr) not in _LOOP_WORDS:
            if target is None or target == "loop" or target in self._bound:
                yield _bad(node, f"`.{node.attr}` is not built into SQL templates")
            else:
                yield _undefined(node, f"var.{node.attr}", target)

    def _of_variable(self, name: str, line: int) -> Iterator[TemplateFault]:
        """A variable that is not there, or that must not be shown."""
        self.uses.add(name)
        if name in self.closed:
            message = f"`var.{name}` holds a secret, and SQL is stored and shown"
            yield TemplateFault(rule="secret-not-allowed", line=line, message=message)
        elif name not in self.known and name not in self._guarded:
            close = nearest(name, self.known)
            yield TemplateFault(
                rule="undefined-variable",
                line=line,
                message=f"the variable `{name}` is not defined",
                suggestion=f"var.{close}" if close else None,
            )


def _walk(tree: nodes.Template) -> Iterator[tuple[nodes.Node, int, int]]:
    """Each node with its depth and that of loops, in order, but nothing below one at fault.

    What `.x` and `(…)` come after is left out: it is known with them, or they are at fault.
    """
    waiting: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    while waiting:
        node, depth, loops = waiting.pop()
        yield node, depth, loops
        loops += isinstance(node, nodes.For)
        below = list(node.iter_child_nodes()) if isinstance(node, _ALLOWED) else []
        head = _head(node)
        waiting.extend((child, depth + 1, loops) for child in below[::-1] if child is not head)


def _head(node: nodes.Node) -> nodes.Node | None:
    """What `.x` and `(…)` come after, and `var` in `var['x']`; else None."""
    if isinstance(node, nodes.Getattr | nodes.Call):
        return node.node
    inner = node.node if isinstance(node, nodes.Getitem) else None
    return inner if isinstance(inner, nodes.Name) and inner.name == "var" else None


def _too_big(placed: list[tuple[nodes.Node, int, int]]) -> TemplateFault | None:
    """The fault of a template beyond the bounds."""
    deepest = max(placed, key=lambda place: place[1])
    looped = max(placed, key=lambda place: place[2])
    if len(placed) > MAX_NODES:
        return _limit(1, f"the template has {len(placed):,} parts; there is room for {MAX_NODES:,}")
    if looped[2] > MAX_LOOPS:
        return _limit(looped[0].lineno, f"loops are nested deeper than {MAX_LOOPS}")
    if deepest[1] > MAX_DEPTH:
        return _limit(deepest[0].lineno, f"the template is nested deeper than {MAX_DEPTH} levels")
    return None


def _limit(line: int, message: str) -> TemplateFault:
    """A bound that is passed."""
    return TemplateFault(rule="template-limit", line=line, message=message)


def _undefined(node: nodes.Node, close: str | None, name: str) -> TemplateFault:
    """A name that means nothing."""
    message = f"`{name}` is not defined; SQL knows the variables, as `var.x`"
    line = node.lineno or 1
    return TemplateFault(rule="undefined-variable", line=line, message=message, suggestion=close)


def _bad(node: nodes.Node, message: str) -> TemplateFault:
    """What may not stand in a template."""
    return TemplateFault(rule="bad-template", line=node.lineno or 1, message=message)


def _variable(node: nodes.Node) -> str | None:
    """The name in `var.x` and `var['x']`; None for anything else."""
    if not isinstance(node, nodes.Getattr | nodes.Getitem):
        return None
    if not isinstance(node.node, nodes.Name) or node.node.name != "var":
        return None
    if isinstance(node, nodes.Getattr):
        return node.attr
    word = node.arg.value if isinstance(node.arg, nodes.Const) else None
    return word if isinstance(word, str) else None


def _of_call(node: nodes.Call) -> Iterator[TemplateFault]:
    """Nothing but `range` can be called."""
    plain = not (node.kwargs or node.dyn_args or node.dyn_kwargs)
    if not (isinstance(node.node, nodes.Name) and node.node.name == "range" and plain):
        known = ", ".join(sorted(FILTERS))
        message = f"only `range(…)` can be called; there are the filters {known}"
        yield _bad(node, message)


def _of_word(
    node: nodes.Filter | nodes.Test, kind: str, known: Mapping[str, Callable[..., object]]
) -> Iterator[TemplateFault]:
    """A filter or test that exists, with as many arguments as it takes."""
    word = known.get(node.name)
    if word is None:
        message = f"there is no {kind} `{node.name}`; there are {', '.join(sorted(known))}"
        close = nearest(node.name, known)
        yield TemplateFault(
            rule="bad-template", line=node.lineno, message=message, suggestion=close
        )
        return
    parameters = list(inspect.signature(word).parameters.values())[1:]
    least = sum(1 for parameter in parameters if parameter.default is parameter.empty)
    if node.kwargs or node.dyn_args or node.dyn_kwargs:
        yield _bad(node, f"the {kind} `{node.name}` takes its arguments in order, without names")
    elif not least <= len(node.args) <= len(parameters):
        names = ", ".join(parameter.name for parameter in parameters) or "nothing"
        yield _bad(node, f"the {kind} `{node.name}` takes {names} in its brackets")
