"""What a Python says about itself, and what is understood of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from framework.engine.inspect.reach import Place, Reach, ReachTask
from framework.engine.tasks import decode, encode
from framework.spark.cluster import probe
from framework.spark.cluster.executors import answers, is_local

ROOT = Path(__file__).parents[4]


def a_question(**changed: Any) -> dict[str, Any]:
    """Return a question about one package and one location."""
    place = Place(location=str(ROOT))
    return {
        "python": list(sys.version_info[:2]),
        "packages": {"msgspec": "msgspec"},
        "paths": [str(ROOT)],
        "task": "framework.engine.inspect.reach:reach_task",
        "descriptor": encode(ReachTask(places=(place,))),
        "limit_s": 60,
        **changed,
    }


def asked(question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a process of its own."""
    command = [sys.executable, "-P", str(probe.__file__)]
    text = json.dumps(question)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    (found,) = answers([*done.stdout.splitlines(), "and other output"])
    return dict(found)


def test_process_with_all_packages_looks_for_the_locations() -> None:
    """The task is run by this very package."""
    found = asked(a_question())
    assert found["faults"] == {}
    assert found["packages"]["msgspec"]
    assert decode(Reach, found["status"]).unreached == ()
    assert found["free_mib"] > 0


def test_process_without_a_package_says_which_and_stops() -> None:
    """A task could not be imported."""
    found = asked(a_question(packages={"no_such": "no-such"}))
    assert list(found["faults"]) == ["no-such"]
    assert found["status"] is None


def test_other_python_imports_nothing() -> None:
    """Its packages are of no interest."""
    found = asked(a_question(python=[2, 7]))
    assert found["packages"] == {}
    assert found["status"] is None


def test_task_that_fails_or_takes_too_long_is_reported() -> None:
    """The driver gets a reason, never a trace."""
    failed = asked(a_question(descriptor="{"))
    assert failed["status"] is None
    assert failed["fault"]
    late = asked(a_question(task="time:sleep", descriptor=30, limit_s=1))
    assert late["fault"] == "TimeoutError: no answer in time"


def test_python_that_does_not_run_is_an_answer_too() -> None:
    """The shell says so on its behalf; two tasks of one executor are one answer."""
    line = "!w1!17!sh: 1: python9: not found"
    assert answers([line, line]) == [{"host": "w1", "failed": "sh: 1: python9: not found"}]


def test_local_masters_are_those_without_executors() -> None:
    """`local-cluster` has executors of its own, as a cluster has."""
    assert [is_local(each) for each in ("local", "local[*]", "local[2,4]")] == [True] * 3
    assert not any(map(is_local, ("local-cluster[2,1,1024]", "spark://h:1", "yarn", "k8s://x")))
