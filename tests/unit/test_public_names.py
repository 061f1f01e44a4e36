"""The public surface: few names, sorted, cheap to import."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import framework
from framework.errors import FrameworkError
from tests.support.scenes import a_scene
from tests.support.sources import ids


def test_public_names_are_sorted_and_few() -> None:
    """At most 12, in the order of `sorted`, each of them there."""
    assert framework.__all__ == sorted(framework.__all__)
    assert len(framework.__all__) <= 12
    assert dir(framework) == framework.__all__
    assert all(getattr(framework, name) is not None for name in framework.__all__)


def test_public_errors_are_the_branches_of_the_tree() -> None:
    """A caller can distinguish causes: each direct child of the root is public."""
    exported = {getattr(framework, name) for name in framework.__all__ if name.endswith("Error")}
    assert exported == {FrameworkError, *FrameworkError.__subclasses__()}


def test_public_functions_have_contracts() -> None:
    """Each says what it returns."""
    for name in ("build_plan", "explain", "load_spec"):
        found = getattr(framework, name)
        assert callable(found)
        assert inspect.getdoc(found)


def test_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    assert not hasattr(framework, "nonsense")


def test_importing_the_package_loads_nothing_else() -> None:
    """Neither rooms of ours nor packages of others."""
    program = (
        "import sys; before = set(sys.modules); import framework\n"
        "new = {m.split('.')[0] for m in set(sys.modules) - before}\n"
        "assert not new & {'pyarrow', 'numpy', 'pydantic', 'pyspark', 'yaml'}, new\n"
        "assert [m for m in sys.modules if m.startswith('framework.')] == []\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert done.returncode == 0


def test_plan_is_built_and_explained(tmp_path: Path) -> None:
    """From a path, without leaving anything behind."""
    scene = a_scene(tmp_path / "scene", {"p=1/a.parquet": ids(1, 2)})
    plan = framework.build_plan(scene.spec)
    text = framework.explain(plan)
    assert text.splitlines()[0].startswith("odd.rows")
    assert text.endswith("Nothing has been changed.\n")
    assert not scene.location.exists()
