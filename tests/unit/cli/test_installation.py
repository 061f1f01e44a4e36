"""What a workflow installs is what is installed here, whatever way that was made."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from framework.cli.init import VARIABLE, installation, installed_as

GIT = "https://git.example.com/data/lakestrap.git"


def words(origin: dict[str, Any] | None, folder: Path) -> list[str]:
    """What a shell gives to pip."""
    text = None if origin is None else json.dumps(origin)
    return shlex.split(installed_as(text, "0.3.1", folder).words)


def test_installation_of_an_index_is_its_version(tmp_path: Path) -> None:
    """Pip writes no record of an origin then."""
    assert words(None, tmp_path) == ["lakestrap==0.3.1"]


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (
            {
                "url": GIT,
                "vcs_info": {"vcs": "git", "commit_id": "0a5a", "requested_revision": "v1"},
            },
            f"lakestrap @ git+{GIT}@0a5a",
        ),
        (
            {"url": GIT, "vcs_info": {"vcs": "git", "commit_id": "0a5a"}, "subdirectory": "a/b"},
            f"lakestrap @ git+{GIT}@0a5a#subdirectory=a/b",
        ),
        (
            {"url": "https://x.example/lakestrap-0.3.1-py3-none-any.whl", "archive_info": {}},
            "lakestrap @ https://x.example/lakestrap-0.3.1-py3-none-any.whl",
        ),
    ],
)
def test_installation_of_a_url_is_that_url(
    tmp_path: Path, origin: dict[str, Any], expected: str
) -> None:
    """Of a repository the commit that is installed, not the branch that has moved since."""
    assert words(origin, tmp_path) == [expected]


def test_installation_of_a_wheel_goes_along(tmp_path: Path) -> None:
    """No other machine has the file."""
    wheel = tmp_path / "with space" / "lakestrap-0.3.1-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    folder = tmp_path / "specs"
    made = installed_as(json.dumps({"url": wheel.as_uri(), "archive_info": {}}), "0.3.1", folder)
    place = f".github/wheels/{wheel.name}"
    assert made.copy == (wheel.resolve(), folder / place)
    assert shlex.split(made.words) == [f"./{place}"]


def test_installation_inside_the_repository_is_a_relative_path(tmp_path: Path) -> None:
    """A checkout has it too."""
    (tmp_path / "vendor").mkdir()
    origin = {"url": (tmp_path / "vendor").as_uri(), "dir_info": {"editable": True}}
    assert words(origin, tmp_path) == ["./vendor"]


@pytest.mark.parametrize(
    "url", ["file:///nowhere/of/anybody", "https://x/$(id)", "https://x/${{a}}"]
)
def test_installation_of_this_machine_alone_asks_for_a_variable(tmp_path: Path, url: str) -> None:
    """A text that a shell or a workflow would run is none of ours."""
    made = installed_as(json.dumps({"url": url, "dir_info": {}}), "0.3.1", tmp_path)
    assert made.asks
    assert VARIABLE in made.words
    assert url not in made.words


def test_installation_of_these_tests_is_known(tmp_path: Path) -> None:
    """An editable one, or a wheel."""
    assert installation(tmp_path).words
