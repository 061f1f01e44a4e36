"""Fixtures: one judge process per release for the session, and our own Spark beside them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from framework.timeline_service.server import EmbeddedServer
from tests.interop.cases import Case
from tests.interop.differences import RELEASES
from tests.interop.judge import JUDGE_ENVIRONMENT, ROOT, Judge, judge_jar
from tests.interop.served_table import Served
from tests.interop.support import adopt_case

_TURNS = 5


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most pairs of case and release of tests that take turns to the full matrix.

    One of five pairs stays, or of the marker's number.

    Cases are counted over the tests of a module, so that tests of one case alternate too.
    """
    cases: dict[str, list[str]] = {}
    for item in items:
        turns, left_out = (item.get_closest_marker(name) for name in ("taking_turns", "full"))
        if turns is None or left_out is not None or not isinstance(item, pytest.Function):
            continue
        release = str(item.callspec.params["judge"])
        known = cases.setdefault(str(item.path), [])
        case = f"{item.originalname}{item.callspec.id.replace(release, '')}"
        if case not in known:
            known.append(case)
        number = turns.args[0] if turns.args else _TURNS
        if (known.index(case) + RELEASES.index(release)) % number:
            item.add_marker(pytest.mark.full)


@pytest.fixture(scope="session")
def judge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the judges log and work; the bundles are fetched first where they are missing."""
    if not all(judge_jar(release).is_file() for release in RELEASES):
        python = JUDGE_ENVIRONMENT / "bin" / "python"
        if not python.is_file():
            pytest.fail(f"no judge's environment at {JUDGE_ENVIRONMENT}: run `make interop`")
        script = ROOT / "tests" / "interop" / "fetch_judge.py"
        subprocess.run([str(python), str(script)], check=True, stdout=sys.stderr)
    return tmp_path_factory.mktemp("judges")


@pytest.fixture(scope="session", params=RELEASES)
def judge(request: pytest.FixtureRequest, judge_folder: Path) -> Iterator[Judge]:
    """One release of Apache Hudi, warm for the whole session."""
    with Judge(str(request.param), judge_folder / str(request.param)) as process:
        yield process


@pytest.fixture(scope="session")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Path]:
    """Adopt a case once for the session and return the table's location; never write to it."""
    done: dict[str, Path] = {}

    def adopt_once(case: Case) -> Path:
        if case.name not in done:
            done[case.name] = adopt_case(case, tmp_path_factory.mktemp(case.name))
        return done[case.name]

    return adopt_once


@pytest.fixture
def table_copy(adopted: Callable[[Case], Path], tmp_path: Path) -> Callable[[Case], Path]:
    """Return a copy of an adopted table that Apache Hudi may write to; its source is shared."""

    def copy(case: Case) -> Path:
        target = tmp_path / "copy"
        shutil.copytree(adopted(case), target)
        return target

    return copy


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Served, EmbeddedServer]]:
    """A service for the table that will be at `tmp_path/table`."""
    found = Served(tmp_path / "table")
    with EmbeddedServer(found.service) as server:
        yield found, server
