"""The allowed contents of an SQL template, checked on its syntax tree before it runs.

Anyone who validates a pull request runs its templates, so a template must end soon and must not
grow without bound. Neither threads nor signals can guarantee that: a thread cannot be stopped, and
a signal belongs to the main thread of a process that may not be ours. So the language itself is
small enough to bound. Only the nodes below are allowed. Each takes time and space in proportion to
its input values, and the length of a named value is bounded; without `*`, `**`, `%`, calls, macros
and recursion nothing grows faster. Only loops run a node twice, and the nodes that they run are
counted at run time (`template_engine`).
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
"""Maximum number of nodes of a template; one of several pages has some hundred."""

MAX_DEPTH = 60
"""Maximum nesting of nodes; Python, which Jinja compiles to, stops at 100."""

MAX_LOOPS = 5
"""Maximum nesting of loops; Python stops at 20."""

MARK = "\ue000"
"""First character of the mark for a `${…}` reference; no spec contains the character itself."""

REFERENCE_INSIDE = "inside a Jinja expression write a variable as `var.x`, without `${}`"
"""The message for a mark inside a Jinja expression."""

_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign),
    *(nodes.Const, nodes.List, nodes.Tuple, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Slice),
    *(nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not),
    *(nodes.Concat, nodes.Add, nodes.Sub, nodes.Neg, nodes.Filter, nodes.Test, nodes.Call),
    nodes.Keyword,  # refused with its filter or call
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
    """A fault in a template; `rule` has no `spec/` prefix, `line` starts at 1."""

    rule: str
    line: int
    message: str
    suggestion: str | None = None


@dataclass(slots=True, kw_only=True)
class TreeCheck:
    """One walk over a template's syntax tree.

    Attributes:
        known: the defined variables.
        closed: those of them that hold a secret.
        uses: afterwards, the variables that the template uses.
    """

    known: Collection[str]
    closed: Collection[str]
    uses: set[str] = field(default_factory=set)
    _guarded: set[str] = field(default_factory=set)
    _bound: set[str] = field(default_factory=set)

    def faults(self, tree: nodes.Template) -> tuple[TemplateFault, ...]:
        """Return every fault, by line."""
        placed = list(_walk(tree))
        too_big = _too_big(placed)
        if too_big:
            return (too_big,)
        for node, _, _ in placed:
            self._note_names(node)
        found = [fault for node, _, _ in placed for fault in self._of(node)]
        return tuple(sorted(found, key=lambda fault: fault.line))

    def _note_names(self, node: nodes.Node) -> None:
        """Record the names that are bound, and the variables that may be missing."""
        if isinstance(node, nodes.Name) and node.ctx == "store":
            self._bound.add(node.name)
        if isinstance(node, nodes.Test | nodes.Filter):
            asks = node.name in ("defined", "undefined", "default", "d")
            name = _variable(node.node) if asks and node.node is not None else None
            if name is not None:
                self._guarded.add(name)

    def _of(self, node: nodes.Node) -> Iterator[TemplateFault]:
        """Yield the faults of one node."""
        if not isinstance(node, _ALLOWED):
            spelled = _SPELLED.get(type(node), f"`{type(node).__name__.lower()}`")
            yield _bad(node, f"{spelled} is not supported in SQL templates")
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
        """Yield the fault of a name by itself that is not bound in the template."""
        if node.ctx == "store":
            if node.name in _RESERVED:
                yield _bad(node, f"`{node.name}` is reserved; use another name")
        elif node.name == "var":
            yield _bad(node, "`var` holds all variables; name one, as in `var.x`")
        elif node.name not in self._bound:
            close = f"var.{node.name}" if node.name in self.known else None
            yield _undefined(node, close, node.name)

    def _of_access(self, node: nodes.Getattr | nodes.Getitem) -> Iterator[TemplateFault]:
        """Yield the fault of an access other than `var.x`, `loop.first` or items of a value."""
        target = node.node.name if isinstance(node.node, nodes.Name) else None
        if target == "var":
            name = _variable(node)
            if name is None:
                yield _bad(node, "the variable must be named, as in `var.x`")
            else:
                yield from self._of_variable(name, node.lineno)
        elif isinstance(node, nodes.Getattr) and (target, node.attr) not in _LOOP_WORDS:
            if target is None or target == "loop" or target in self._bound:
                yield _bad(node, f"`.{node.attr}` is not supported in SQL templates")
            else:
                yield _undefined(node, f"var.{node.attr}", target)

    def _of_variable(self, name: str, line: int) -> Iterator[TemplateFault]:
        """Yield the fault of a variable that is undefined or secret."""
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
    """Yield each node with its depth and that of loops, in order, but nothing below a faulty node.

    The heads of `.x` and `(…)` are excluded: their parents cover them, or are faulty.
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
    """Return the head of `.x` and `(…)`, and `var` of `var['x']`; else None."""
    if isinstance(node, nodes.Getattr | nodes.Call):
        return node.node
    inner = node.node if isinstance(node, nodes.Getitem) else None
    return inner if isinstance(inner, nodes.Name) and inner.name == "var" else None


def _too_big(placed: list[tuple[nodes.Node, int, int]]) -> TemplateFault | None:
    """Return the fault of a template that exceeds the limits, or None."""
    deepest = max(placed, key=lambda place: place[1])
    looped = max(placed, key=lambda place: place[2])
    if len(placed) > MAX_NODES:
        return _limit(1, f"the template has {len(placed):,} parts; the limit is {MAX_NODES:,}")
    if looped[2] > MAX_LOOPS:
        return _limit(looped[0].lineno, f"loops are nested deeper than {MAX_LOOPS}")
    if deepest[1] > MAX_DEPTH:
        return _limit(deepest[0].lineno, f"the template is nested deeper than {MAX_DEPTH} levels")
    return None


def _limit(line: int, message: str) -> TemplateFault:
    return TemplateFault(rule="template-limit", line=line, message=message)


def _undefined(node: nodes.Node, close: str | None, name: str) -> TemplateFault:
    """Return the fault of an undefined name."""
    message = f"`{name}` is not defined; SQL can use the variables, as `var.x`"
    line = node.lineno or 1
    return TemplateFault(rule="undefined-variable", line=line, message=message, suggestion=close)


def _bad(node: nodes.Node, message: str) -> TemplateFault:
    return TemplateFault(rule="bad-template", line=node.lineno or 1, message=message)


def _variable(node: nodes.Node) -> str | None:
    """Return the name in `var.x` and `var['x']`; None for anything else."""
    if not isinstance(node, nodes.Getattr | nodes.Getitem):
        return None
    if not isinstance(node.node, nodes.Name) or node.node.name != "var":
        return None
    if isinstance(node, nodes.Getattr):
        return node.attr
    word = node.arg.value if isinstance(node.arg, nodes.Const) else None
    return word if isinstance(word, str) else None


def _of_call(node: nodes.Call) -> Iterator[TemplateFault]:
    """Yield the fault of a call of anything but `range`."""
    plain = not (node.kwargs or node.dyn_args or node.dyn_kwargs)
    if not (isinstance(node.node, nodes.Name) and node.node.name == "range" and plain):
        known = ", ".join(sorted(FILTERS))
        message = f"only `range(…)` can be called; the filters are {known}"
        yield _bad(node, message)


def _of_word(
    node: nodes.Filter | nodes.Test, kind: str, known: Mapping[str, Callable[..., object]]
) -> Iterator[TemplateFault]:
    """Yield the fault of an unknown filter or test, or of a wrong number of arguments."""
    word = known.get(node.name)
    if word is None:
        message = f"there is no {kind} `{node.name}`; use one of {', '.join(sorted(known))}"
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
