"""The README's example is run, and every YAML block of README and guide loads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.cli.app import main
from framework.spec.loader import load_spec
from tools.demo import write_flights

ROOT = Path(__file__).parents[3]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md")))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BESIDE = re.compile(r"# (run-pipeline\.yml|[a-z]+\.columns\.yml)\n")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def blocks(path: Path, language: str) -> list[str]:
    """Return the code blocks of one language."""
    return [text for kind, text in BLOCK.findall(path.read_text("utf-8")) if kind == language]


def yaml_blocks() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield name and text of every spec, with the other files that its document shows.

    A block that begins with the name of another file is that file. Those of `specs.md` have a test
    of their own.
    """
    for path in DOCUMENTS:
        texts = [] if path.name == "specs.md" else blocks(path, "yaml")
        beside = {found[1]: text for text in texts if (found := BESIDE.match(text))}
        specs = (text for text in texts if text not in beside.values())
        yield from ((path.name, text, beside) for text in specs)


@pytest.mark.parametrize(("name", "text", "beside"), list(yaml_blocks()))
def test_yaml_of_documents_loads(
    tmp_path: Path, name: str, text: str, beside: dict[str, str]
) -> None:
    """Whatever a reader may copy is a valid spec, or a file that one takes in."""
    path = tmp_path / "x.pipeline.yml"
    path.write_text(text)
    for other, content in beside.items():
        (tmp_path / other).write_text(content)
    assert load_spec(path).warnings == (), name


def test_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of its commands ends with 0, on the real flights, and the table is there."""
    monkeypatch.chdir(tmp_path)
    rows = write_flights(tmp_path / "lake" / "raw" / "flights")
    readme = ROOT / "README.md"
    (spec,) = blocks(readme, "yaml")
    assert len(spec.splitlines()) <= 10
    (tmp_path / "flights.pipeline.yml").write_text(spec)
    lines = [line for text in blocks(readme, "console") for line in text.splitlines()]
    commands = [shlex.split(line)[2:] for line in lines if line.startswith("$ run-pipeline")]
    assert [words[0] for words in commands] == ["validate", "plan", "run", "status"]
    for words in commands:
        extra = ["--in-process"] if words[0] == "run" else []
        assert main([*words, *extra]) == 0, words
    assert f"{rows:,} rows" in capsys.readouterr().out
    assert (tmp_path / "lake" / "flights" / ".hoodie" / "hoodie.properties").is_file()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_of_documents_lead_somewhere(path: Path) -> None:
    """Within the repository."""
    missing = [
        to for to in LINK.findall(path.read_text("utf-8")) if not (path.parent / to).exists()
    ]
    assert missing == []


def test_picture_of_the_readme_shows_real_commands() -> None:
    """And nothing of the machine on which it was drawn but its temporary folder."""
    picture = (ROOT / "docs" / "img" / "demo.svg").read_text("utf-8")
    text = re.sub(r"<[^>]+>", "", picture).replace("&#160;", " ")
    for words in ("plan", "run", "status"):
        assert f"run-pipeline {words} flights.pipeline.yml" in text
    assert "/home/" not in text
    assert "/work" not in text
