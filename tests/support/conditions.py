"""Which conditions the source can raise, with their exit codes: read from its syntax.

A condition is written where it is raised, whole (`"plan/stale"`) or in two parts: its area in a
helper of the module (`f"commit/{condition}"`), the rest where that is called. The few that come
out of tables are listed here.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import framework.errors
from framework.errors import FrameworkError

__all__ = ["raised_conditions"]

_ROOM: Final = Path(framework.errors.__file__).parent
_NAME: Final = re.compile(r"[a-z][a-z-]*/[a-z0-9-]+")
_AREA: Final = re.compile(r"([a-z][a-z-]*)/")

_CLASSES: Final[Mapping[str, int]] = {
    name: found.exit_code
    for name, found in vars(framework.errors).items()
    if isinstance(found, type) and issubclass(found, FrameworkError)
} | {
    "Fault": 1,
    "Finding": 1,
    "KeyFault": 1,
    "SchemaIssue": 1,
    "Danger": 1,
    "Damage": 5,
    "Lack": 5,
    "TableFinding": 1,
    "PlanNote": 0,
}
"""Exit code by class; findings of plan and status become an error of code 1, a note none."""

_FROM_TABLES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("source/int96", "source/millisecond"), 0),
    **dict.fromkeys(
        (
            "schema/nanosecond-timestamp",
            "schema/time",
            "schema/float16",
            "schema/unsigned-integer",
            "schema/decimal-too-wide",
        ),
        1,
    ),
    **dict.fromkeys(
        (
            "storage/not-found",
            "storage/exists",
            "storage/permission",
            "storage/full",
            "storage/too-many-open",
            "storage/symbolic-link",
            "storage/failed",
            "storage/not-durable",
            "storage/no-bucket",
            "storage/credentials",
            "storage/clock-skew",
            "storage/throttled",
            "storage/timeout",
            "storage/unreachable",
            "storage/changed",
            "storage/bad-key",
            "table/file-lost",
            "table/file-size",
        ),
        5,
    ),
}


@cache
def raised_conditions() -> dict[str, set[int]]:
    """Return every condition but those of specs (`spec/…`), with the exit codes it can have."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for condition, code in _FROM_TABLES.items():
        found[condition].add(code)
    modules = [_Module(ast.parse(path.read_text("utf-8"))) for path in sorted(_ROOM.rglob("*.py"))]
    shared = {n: h for each in modules for n, h in each.helpers.items() if not n.startswith("_")}
    for module in modules:
        for condition, code in module.conditions(shared):
            if not condition.startswith("spec/"):
                found[condition].add(code)
    return dict(found)


@dataclass(frozen=True, kw_only=True)
class _Helper:
    """A function that puts an area before the text that it is given.

    Attributes:
        area: before the slash.
        parameter: name of the parameter with the rest.
        place: its place among the arguments of a call.
        code: exit code of what it makes.
    """

    area: str
    parameter: str
    place: int
    code: int


class _Module:
    """One module's syntax; `helpers` are its own, by name."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        self.helpers = {f.name: h for f in self._functions for h in _helpers(f)}

    def conditions(self, shared: Mapping[str, _Helper]) -> Iterator[tuple[str, int]]:
        """Yield each condition with the exit code of its class.

        `shared` are helpers that every module may import.
        """
        known = {**shared, **self.helpers}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call):
                yield from _direct(node)
                yield from _helped(node, known)
        for function in self._functions:
            yield from _key_faults(function)


def _helped(call: ast.Call, known: Mapping[str, _Helper]) -> Iterator[tuple[str, int]]:
    """Yield what a call of a helper says."""
    helper = known.get(_called(call))
    if helper is None:
        return
    values = [k.value for k in call.keywords if k.arg == helper.parameter]
    for value in [*call.args[helper.place : helper.place + 1], *values]:
        for node in ast.walk(value):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{helper.area}/{node.value}", helper.code


def _direct(call: ast.Call) -> Iterator[tuple[str, int]]:
    """Yield the whole condition that a class of errors is given."""
    code = _CLASSES.get(_called(call))
    if code is None:
        return
    named = [k.value for k in call.keywords if k.arg in {"condition", "rule"}]
    for value in [*call.args[:1], *named]:
        if isinstance(value, ast.Constant) and _NAME.fullmatch(str(value.value)):
            yield str(value.value), code


def _helpers(function: ast.FunctionDef) -> Iterator[_Helper]:
    """Yield the function as a helper, if it is one."""
    names = [a.arg for a in function.args.args if a.arg != "self"]
    codes = [_CLASSES[_called(c)] for c in _calls(function) if _called(c) in _CLASSES]
    for node in ast.walk(function):
        if not isinstance(node, ast.JoinedStr) or len(node.values) != 2:
            continue
        head, tail = node.values
        area = _AREA.fullmatch(str(head.value)) if isinstance(head, ast.Constant) else None
        name = _variable(tail)
        if area and name in names and codes:
            yield _Helper(area=area[1], parameter=name, place=names.index(name), code=codes[0])


def _variable(node: ast.expr) -> str:
    """Return the name of the plain variable that a part of an f-string is; "" for another part."""
    inner = node.value if isinstance(node, ast.FormattedValue) else None
    return inner.id if isinstance(inner, ast.Name) else ""


def _key_faults(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield what `fault = _fault_at(area, …)` and then `fault(rest, …)` say, as key rules do."""
    areas = [c.args[0] for c in _calls(function) if _called(c) == "_fault_at"]
    for area in areas:
        for call in _calls(function):
            if _called(call) == "fault" and isinstance(area, ast.Constant):
                rest = call.args[0]
                if isinstance(rest, ast.Constant):
                    yield f"{area.value!s}/{rest.value!s}", 1


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Yield the calls in a function."""
    return (node for node in ast.walk(function) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    """Return the name of what is called."""
    found = call.func
    if isinstance(found, ast.Name):
        return found.id
    return found.attr if isinstance(found, ast.Attribute) else ""
