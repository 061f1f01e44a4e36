"""What tasks need of an executor, and the faults of those that lack it; pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from framework.engine.inspect.reach import Place, Reach, Unreached
from framework.engine.tasks import decode
from framework.errors import EngineError
from framework.hudi.storage.hdfs_uri import is_hdfs_uri
from framework.hudi.storage.object_uri import is_object_uri

__all__ = ["PACKAGES", "SAME", "STORE_PACKAGES", "Needs", "fault_of", "needs_of", "reach_fault"]

PACKAGES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "fastavro": ("fastavro", "1.9"),
        "google_crc32c": ("google-crc32c", "1.5"),
        "jinja2": ("jinja2", "3.1.6"),
        "msgspec": ("msgspec", "0.19"),
        "numpy": ("numpy", "1.26"),
        "pyarrow": ("pyarrow", "18.1"),
        "pydantic": ("pydantic", "2.9"),
        "re2": ("google-re2", "1.1.20240702"),
        "yaml": ("pyyaml", "6.0.2"),
    }
)
"""Module to distribution and oldest version, of what the modules of tasks import."""

STORE_PACKAGES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {"obstore": ("obstore", "0.12"), "hdfs_native": ("hdfs-native", "0.14")}
)
"""The same, of what opens locations in object stores and on HDFS."""

SAME: Final = "pyarrow"
"""The package whose version must be the driver's: it makes the bytes of files, and an attempt
on one executor may be repeated on another."""

_LEAST_FREE_MIB: Final = 256
_NUMBER: Final = re.compile(r"\d+")
_MOST_HOSTS: Final = 3
_GUIDE: Final = "docs/guide/clusters.md"
_SHARED: Final = (
    "Keep table and source where all machines see the same files: a shared mount, s3:// or hdfs://."
    " Or run with a local master."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What each executor must have.

    Attributes:
        python: major and minor version of the driver.
        packages: distribution to its oldest version.
        same: the driver's version of `SAME`.
        modules: module to distribution, to import.
        program: the Python that workers start.
        places: locations that must be reached.
    """

    python: tuple[int, int]
    packages: Mapping[str, str]
    same: str
    modules: Mapping[str, str]
    program: str
    places: tuple[Place, ...] = ()


def needs_of(program: str, places: Sequence[Place]) -> Needs:
    """Return what tasks of this driver need to work on these locations."""
    modules = dict(PACKAGES)
    if any(is_object_uri(each.location) for each in places):
        modules["obstore"] = STORE_PACKAGES["obstore"]
    if any(is_hdfs_uri(each.location) for each in places):
        modules["hdfs_native"] = STORE_PACKAGES["hdfs_native"]
    return Needs(
        python=(sys.version_info[0], sys.version_info[1]),
        packages=dict(modules.values()),
        same=version(SAME),
        modules={module: distribution for module, (distribution, _) in modules.items()},
        program=program,
        places=tuple(places),
    )


def fault_of(answers: Iterable[Mapping[str, Any]], needs: Needs) -> EngineError | None:
    """Return the gravest fault that executors have, with the hosts that have it; None if none has.

    What makes all else impossible comes first: Python, packages, space, locations.
    """
    found = list(answers)
    for faults in (_python, _packages, _space, _places):
        by_fault: dict[Lack, list[str]] = {}
        for each in found:
            for fault in faults(each, needs):
                by_fault.setdefault(fault, []).append(str(each["host"]))
        if by_fault:
            lack, hosts = next(iter(by_fault.items()))
            message = f"{lack.message}, on {_named(hosts)}"
            return EngineError(lack.condition, message, remedy=lack.remedy)
    return None


def reach_fault(status: str) -> EngineError | None:
    """Return the error for the first location that a process does not reach, given its `Reach`."""
    lack = next(map(_unreached, decode(Reach, status).unreached), None)
    return None if lack is None else EngineError(lack.condition, lack.message, remedy=lack.remedy)


class Lack(NamedTuple):
    """What an executor lacks; the message does not name the host."""

    condition: str
    message: str
    remedy: str


def _python(said: Mapping[str, Any], needs: Needs) -> Iterator[Lack]:
    """Yield the fault of an executor whose Python does not run, or is another."""
    wanted = ".".join(map(str, needs.python))
    remedy = (
        f"Let PYSPARK_PYTHON, or --conf spark.pyspark.python, name a Python {wanted} that is on"
        f" each machine of the cluster, or one in an archive ({_GUIDE})."
    )
    if "failed" in said:
        reason = said["failed"] or "it printed nothing"
        yield Lack("cluster/no-python", f"{needs.program} does not run: {reason}", remedy)
    elif tuple(said["python"]) != needs.python:
        actual = ".".join(map(str, said["python"]))
        message = f"the driver has Python {wanted}, and {said['program']} is {actual}"
        yield Lack("cluster/other-python", message, remedy)


def _packages(said: Mapping[str, Any], needs: Needs) -> Iterator[Lack]:
    """Yield the fault of an executor whose Python lacks packages, or has other versions."""
    missing = {name: f"{name} ({reason})" for name, reason in said["faults"].items()}
    for name, oldest in needs.packages.items():
        actual = said["packages"].get(name)
        if actual is not None and _is_older(actual, oldest):
            missing[name] = f"{name} {actual}, which is older than {oldest}"
    actual = said["packages"].get(SAME)
    if SAME not in missing and actual is not None and actual != needs.same:
        missing[SAME] = f"{SAME} {actual}, where the driver has {needs.same}"
    if missing:
        wanted = " ".join(
            f"'{name}=={needs.same}'" if name == SAME else f"'{name}>={needs.packages[name]}'"
            for name in missing
        )
        yield Lack(
            "cluster/packages",
            f"tasks cannot run with {said['program']}: {'; '.join(missing.values())}",
            f"Install {wanted} for that Python on each machine, or send an archive ({_GUIDE}).",
        )


def _space(said: Mapping[str, Any], _: Needs) -> Iterator[Lack]:
    """Yield the fault of an executor whose temporary folder is full."""
    if said["free_mib"] < _LEAST_FREE_MIB:
        yield Lack(
            "cluster/no-space",
            f"{said['free_mib']} MiB are free under {said['scratch']}, not {_LEAST_FREE_MIB}",
            "Free some space there, or set spark.executorEnv.TMPDIR to another folder.",
        )


def _places(said: Mapping[str, Any], needs: Needs) -> Iterator[Lack]:
    """Yield the faults of an executor that does not reach locations."""
    if said["fault"]:
        names = ", ".join(each.location for each in needs.places)
        remedy = "See the logs of the executor; check network and credentials from that machine."
        yield Lack("cluster/unreached", f"{names} cannot be looked at: {said['fault']}", remedy)
    elif said["status"] is not None:
        yield from map(_unreached, decode(Reach, said["status"]).unreached)


def _unreached(found: Unreached) -> Lack:
    if found.is_other:
        return Lack(
            "cluster/not-shared",
            f"{found.location} is not the driver's folder: {found.message}",
            _SHARED,
        )
    message = f"{found.location} is not reached: {found.message} [{found.condition}]"
    return Lack("cluster/unreached", message, found.remedy)


def _is_older(actual: str, oldest: str) -> bool:
    """Return whether a version is older, by its numbers."""
    return _numbers(actual) < _numbers(oldest)


def _numbers(text: str) -> list[int]:
    return list(map(int, _NUMBER.findall(text)))


def _named(hosts: Sequence[str]) -> str:
    """Return a few hosts by name, and the number of the others."""
    names = list(dict.fromkeys(hosts))
    more = len(names) - _MOST_HOSTS
    return ", ".join(names[:_MOST_HOSTS]) + (f" and {more} more" if more > 0 else "")
