"""The walks in `docs/architecture.md` are true: each function is there, and reached from before."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()
STEP = re.compile(r"^\d+\. `(framework/[\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", re.MULTILINE)
WALKS = ("A bootstrap, file by file", "A load, file by file")
MOST = 12
ENTRIES = {"build", "run"}
"""What commands call, one after the other: the plan, then the run."""


def walk(title: str) -> list[tuple[Path, list[str]]]:
    """Return file and functions of each step of a walk."""
    section = TEXT.split(f"### {title}\n")[1].split("\n#")[0]
    return [(ROOT / path, re.findall(r"`(\w+)`", names)) for path, names in STEP.findall(section)]


def _defined(path: Path) -> set[str]:
    """Return the functions that a file defines at its top."""
    return {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}


def _named(path: Path) -> dict[str, int]:
    """Return the names that a file uses in its code, with the first line of each."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            found.setdefault(node.id, node.lineno)
    return found


@pytest.mark.parametrize("title", WALKS)
def test_walk_passes_at_most_twelve_modules_each_once(title: str) -> None:
    """A step back would name a module again."""
    paths = [path for path, _ in walk(title)]
    assert 6 < len(paths) <= MOST
    assert len(set(paths)) == len(paths)


@pytest.mark.parametrize("title", WALKS)
def test_walk_names_functions_that_earlier_modules_call(title: str) -> None:
    """But for the two that commands call."""
    steps = walk(title)
    for number, (path, names) in enumerate(steps):
        assert set(names) <= _defined(path), path
        before = {name for earlier, _ in steps[:number] for name in _named(earlier)}
        assert set(names) - ENTRIES <= before, path


@pytest.mark.parametrize(("title", "story"), [(WALKS[0], "bootstrap"), (WALKS[1], "load")])
def test_walk_is_in_the_order_of_the_story(title: str, story: str) -> None:
    """The steps come as the pipeline's file calls them."""
    file = ROOT / "framework" / "engine" / story / "pipeline.py"
    steps = walk(title)
    start = [path for path, _ in steps].index(file)
    lines = _named(file)
    called = [lines[n] for _, names in steps[start + 1 :] for n in names if n in lines]
    assert len(called) > 5
    assert called == sorted(called)
