"""Rules of the house that no linter has."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from framework import errors, vocabulary

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "framework").rglob("*.py"))
SPARK = ROOT / "framework" / "spark"
CLI = [path for path in SOURCES if "cli" in path.relative_to(ROOT).parts]


@cache
def _tree(path: Path) -> ast.Module:
    """Return a source file's tree; several tests walk each."""
    return ast.parse(path.read_text())


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a source file's tree."""
    return tuple(ast.walk(_tree(path)))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_source_files_of_the_product_stay_under_400_lines() -> None:
    """A file that no longer fits in 400 lines has more than one subject."""
    lines = {_name(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: count for name, count in lines.items() if count > 400} == {}


@pytest.mark.parametrize(
    "path",
    [p for p in SOURCES if p.name == "__init__.py" and p.parent.name not in {"framework", "spark"}],
    ids=_name,
)
def test_inner_package_init_holds_a_docstring_only(path: Path) -> None:
    """Import contracts do not follow a package's `__init__`, so it holds no code."""
    body = _tree(path).body
    assert len(body) == 1
    assert isinstance(body[0], ast.Expr)


def test_rooms_other_than_spark_import_no_pyspark() -> None:
    """Every module outside `framework.spark` and the commands that start it is free of Spark."""
    modules = [
        ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for p in SOURCES
        if SPARK not in p.parents and "cli" not in p.parts and p.name != "__main__.py"
    ]
    program = (
        "import importlib, sys\n"
        f"for m in {modules!r}: importlib.import_module(m)\n"
        "heavy = {'pyspark', 'great_expectations'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == 0


def test_command_line_imports_spark_only_inside_functions() -> None:
    """PySpark takes a second to import, and most commands do not need it."""
    early = [
        (_name(path), node.lineno)
        for path in CLI
        for node in _tree(path).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("framework.spark")
    ]
    assert early == []


def test_command_line_imports_inside_functions_only_what_is_slow() -> None:
    """Commands, Spark and what draws errors; everything else is imported where one looks for it."""
    late = {
        (_name(path), node.module)
        for path in CLI
        for function in _nodes(path)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom)
    }
    slow = ("framework.spark.", "framework.cli.render.", "importlib.metadata")
    others = {(file, name) for file, name in late if not (name or "").startswith(slow)}
    assert {file for file, _ in others} == {"framework/cli/commands.py"}


def test_vocabulary_holds_enums_only() -> None:
    """Shared words are enums without logic."""
    for name in vocabulary.__all__:
        word = getattr(vocabulary, name)
        assert issubclass(word, enum.Enum)
        own = [n for n, v in vars(word).items() if inspect.isfunction(v) and not n.startswith("_")]
        assert own == []


def test_error_tree_drawn_in_the_docstring_is_the_tree_of_classes() -> None:
    """Every error class stands in the drawing under its base, and nothing else does."""
    drawn: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^([\s│├└─]*)(\w+Error)\b", line)
        if not match:
            continue
        depth, name = len(match[1]), match[2]
        while path and path[-1][0] >= depth:
            path.pop()
        drawn[name] = path[-1][1] if path else "Exception"
        path.append((depth, name))
    real = {
        n: c.__base__.__name__
        for n, c in vars(errors).items()
        if inspect.isclass(c) and issubclass(c, Exception) and c.__base__ is not None
    }
    assert drawn == real


def test_audited_files_are_constructed_by_the_audit_alone() -> None:
    """Publishing takes `AuditedFiles`; only the gate may make one."""
    makers = {
        path.relative_to(ROOT).parts[:3]
        for path in SOURCES
        for node in _nodes(path)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "AuditedFiles"
    }
    assert makers == {("framework", "engine", "audit")}


BANNED = ("precombine", "utils", "Hoodie", "Factory", "Manager")


def test_identifiers_keep_to_the_glossary() -> None:
    """One word per thing: words that the glossary bans name nothing of ours."""
    names = [(_name(path), name) for path in SOURCES for name in _names(path)]
    assert [each for each in names if any(word in each[1] for word in BANNED)] == []


def _names(path: Path) -> set[str]:
    """Return the names of classes, functions and arguments in a file."""
    named = (ast.ClassDef, ast.FunctionDef, ast.arg)
    tree = [node for node in _nodes(path) if isinstance(node, named)]
    return {node.arg if isinstance(node, ast.arg) else node.name for node in tree}


def test_no_value_is_cast_to_any() -> None:
    """Such a cast hides that a value does not fit its type, from mypy and from readers."""
    casts = [
        _name(path)
        for path in SOURCES
        for node in _nodes(path)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "cast"
        and ast.unparse(node.args[0]).strip("'") == "Any"
    ]
    assert casts == []


def test_product_never_imports_the_bench_or_the_tests() -> None:
    """Nothing that ships depends on what does not ship."""
    for path in SOURCES:
        for node in _nodes(path):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in {"bench", "tests", "tools"}
