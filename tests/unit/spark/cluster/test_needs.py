"""What executors lack, named with the host and the remedy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from framework.engine.inspect.reach import Place, Reach, Unreached
from framework.engine.tasks import encode
from framework.spark.cluster.needs import (
    PACKAGES,
    STORE_PACKAGES,
    fault_of,
    needs_of,
)

ROOT = Path(__file__).parents[4]
NEEDS = needs_of("python3", [Place(location="/lake/table")])


def an_answer(host: str = "w1", **changed: Any) -> dict[str, Any]:
    """Return what an executor says that has all it needs."""
    return {
        "host": host,
        "python": list(NEEDS.python),
        "program": "/usr/bin/python3",
        "scratch": "/tmp",  # noqa: S108 - a text
        "free_mib": 10_000,
        "packages": {**NEEDS.packages, "pyarrow": NEEDS.same},
        "faults": {},
        "status": encode(Reach()),
        "fault": "",
        **changed,
    }


def test_executors_with_all_they_need_have_no_fault() -> None:
    """Newer versions than the oldest are fine, but of pyarrow."""
    newer = {**NEEDS.packages, "numpy": "99.0", "pyarrow": NEEDS.same}
    assert fault_of([an_answer(), an_answer("w2", packages=newer)], NEEDS) is None


@pytest.mark.parametrize(
    ("changed", "condition", "words"),
    [
        ({"failed": "python3: not found"}, "cluster/no-python", "python3: not found"),
        ({"python": [3, 6]}, "cluster/other-python", "/usr/bin/python3 is 3.6"),
        ({"faults": {"msgspec": "ModuleNotFoundError: x"}}, "cluster/packages", "msgspec (Mod"),
        ({"packages": {"numpy": "1.9.1"}}, "cluster/packages", "numpy 1.9.1"),
        ({"packages": {"pyarrow": "99.0"}}, "cluster/packages", f"driver has {NEEDS.same}"),
        ({"free_mib": 3}, "cluster/no-space", "3 MiB"),
        ({"status": None, "fault": "TimeoutError: x"}, "cluster/unreached", "TimeoutError"),
    ],
)
def test_fault_names_condition_host_and_cause(
    changed: dict[str, Any], condition: str, words: str
) -> None:
    """The first cause, and the machine to look at."""
    fault = fault_of([an_answer(), an_answer("w7", **changed)], NEEDS)
    assert fault is not None
    assert fault.condition == condition
    assert words in fault.message
    assert fault.message.endswith("on w7")
    assert fault.remedy


def test_places_that_are_not_shared_differ_from_those_that_fail() -> None:
    """Another folder under the same path is not a fault of the network."""
    other = Unreached(location="/lake", is_other=True, message="it is missing")
    failed = Unreached(
        location="s3://b", is_other=False, message="no", condition="storage/permission", remedy="R"
    )
    found = [
        fault_of([an_answer(status=encode(Reach(unreached=(each,))))], NEEDS)
        for each in (other, failed)
    ]
    assert [each.condition for each in found if each] == ["cluster/not-shared", "cluster/unreached"]
    assert found[1] is not None
    assert found[1].remedy == "R"


def test_gravest_fault_comes_first_with_a_few_hosts() -> None:
    """Without Python nothing else can be said; many hosts are counted."""
    failing = [an_answer(f"w{each}", failed="") for each in range(5)]
    fault = fault_of([an_answer("w9", free_mib=0), *failing], NEEDS)
    assert fault is not None
    assert fault.condition == "cluster/no-python"
    assert fault.message.endswith("on w0, w1, w2 and 2 more")


@pytest.mark.parametrize(
    ("location", "module"), [("s3://b/t", "obstore"), ("hdfs://n:1/t", "hdfs_native")]
)
def test_store_of_a_location_needs_its_client(location: str, module: str) -> None:
    """A client that no location needs may be missing."""
    assert module in needs_of("python3", [Place(location=location)]).modules
    assert module not in NEEDS.modules


def test_oldest_versions_are_those_of_the_project() -> None:
    """The table of versions follows `pyproject.toml`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {*project["dependencies"], *project["optional-dependencies"]["stores"]}
    for distribution, oldest in (*PACKAGES.values(), *STORE_PACKAGES.values()):
        assert f"{distribution}>={oldest}" in wanted
