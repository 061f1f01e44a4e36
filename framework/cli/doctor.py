"""`run-pipeline doctor`: checks that this machine can run pipelines."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from framework.cli.options import Format, JsonFormat
from framework.cli.render.console import clean, out, write

__all__ = [
    "JAVA_HELP",
    "PYSPARK_RANGE",
    "Check",
    "checks",
    "command",
    "java",
    "package",
    "workers",
]


JAVA_HELP: Final = (
    "Debian: apt-get install openjdk-17-jre-headless. Fedora: dnf install "
    "java-17-openjdk-headless. macOS: brew install openjdk@17, then set JAVA_HOME."
)
PYSPARK_RANGE: Final = ((3, 5), (4, 2))
"""The first supported version, and the first one after it that is not known to work."""

_JAVA_NEEDED: Final = 17
_GIB: Final = 2**30
_MEMORY_GIB: Final = 2
_TIMEOUT_S: Final = 60
_WORKER: Final = """
import json, sys
from importlib import import_module
from importlib.metadata import version
import framework, pyarrow
print(json.dumps({"python": sys.version_info[:2], "pyspark": version("pyspark")}))
"""

_WIDTH: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of the machine; `remedy` is empty if it passed."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def checks() -> tuple[Check, ...]:
    """Return the results of all checks, run now; takes a second or two."""
    return (
        Check(name="python", ok=True, found=f"{platform.python_version()}  {sys.executable}"),
        java(),
        package("pyspark", PYSPARK_RANGE),
        package("pyarrow"),
        workers(),
        _memory(),
        _disk(),
        _links(),
    )


def java() -> Check:
    """Check that the Java that Spark would start exists, runs, and is new enough."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        return Check(name="java", ok=False, found="not found", remedy=JAVA_HELP)
    if home and not Path(program).is_file():
        found, remedy = f"JAVA_HOME={home} has no bin/java", f"Unset it, or set it. {JAVA_HELP}"
        return Check(name="java", ok=False, found=found, remedy=remedy)
    said = _output([program, "-version"])
    number = re.search(r'version "(?:1\.)?(\d+)', said)
    good = number is not None and int(number[1]) >= _JAVA_NEEDED
    first = (said.strip().splitlines() or ["it prints nothing"])[0]
    return Check(
        name="java", ok=good, found=f"{first}  {program}", remedy="" if good else JAVA_HELP
    )


def package(name: str, allowed: tuple[tuple[int, ...], tuple[int, ...]] | None = None) -> Check:
    """Check that a package is installed, from version `allowed[0]` to below `allowed[1]`."""
    try:
        found = version(name)
    except PackageNotFoundError:
        remedy = f"{sys.executable} -m pip install {name}"
        return Check(name=name, ok=False, found="not installed", remedy=remedy)
    number = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if allowed is None or allowed[0] <= number < allowed[1]:
        return Check(name=name, ok=True, found=found)
    low, high = (".".join(map(str, bound)) for bound in allowed)
    remedy = f"{sys.executable} -m pip install '{name}>={low},<{high}'"
    return Check(
        name=name, ok=False, found=f"{found} is not at least {low} and below {high}", remedy=remedy
    )


def workers() -> Check:
    """Check that Spark's Python workers on this machine find this package and the same Spark."""
    program = os.environ.get("PYSPARK_PYTHON") or sys.executable
    said = _output([program, "-c", _WORKER])
    try:
        found = json.loads(said.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = (said.strip().splitlines() or ["it cannot be started"])[-1]
        remedy = f"Unset PYSPARK_PYTHON, or install this package for it ({program})."
        return Check(name="workers", ok=False, found=f"{program}: {last}", remedy=remedy)
    same = tuple(found["python"]) == sys.version_info[:2] and found["pyspark"] == _own_pyspark()
    remedy = "" if same else f"Let PYSPARK_PYTHON be this Python: {sys.executable}"
    text = f"Python {'.'.join(map(str, found['python']))} with PySpark {found['pyspark']}"
    return Check(name="workers", ok=same, found=f"{text}  {program}", remedy=remedy)


def _own_pyspark() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return ""


def _output(command: list[str]) -> str:
    """Return a program's output of both streams; "" if it cannot be started."""
    try:
        done = subprocess.run(  # noqa: S603  the user's own programs
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout


def _memory() -> Check:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    good = total >= _MEMORY_GIB
    remedy = "" if good else f"a driver and its workers need at least {_MEMORY_GIB} GiB"
    return Check(name="memory", ok=good, found=f"{total:.1f} GiB", remedy=remedy)


def _disk() -> Check:
    place = tempfile.gettempdir()
    free = shutil.disk_usage(place).free / _GIB
    good = free >= 1
    remedy = "" if good else f"free some space under {place}, or set TMPDIR"
    return Check(name="disk", ok=good, found=f"{free:.1f} GiB free under {place}", remedy=remedy)


def _links() -> Check:
    """Check hard links, needed to publish; some network and removable file systems lack them."""
    here = Path.cwd()
    try:
        with tempfile.TemporaryDirectory(dir=here, prefix=".run-pipeline-") as folder:
            first = Path(folder, "a")
            first.touch()
            Path(folder, "b").hardlink_to(first)
    except OSError as error:
        found = f"no hard links under {here}: {error.strerror}"
        remedy = "A table needs a file system with hard links that this user may write to."
        return Check(name="links", ok=False, found=found, remedy=remedy)
    return Check(name="links", ok=True, found=f"hard links work under {here}")


def command(
    spec: Annotated[
        Path | None, typer.Argument(metavar="[SPEC]", help="A spec whose object stores to check.")
    ] = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Check this machine: Python, Java, Spark, its workers, memory, disk and links.

    With a spec, also that its object stores answer. Exit 5 if something is missing. Only Spark
    needs Java: validate, plan and status do not.
    """
    found = checks()
    if spec is not None:  # imported here, since the other checks report packages that are missing
        found = (*found, *import_module("framework.cli.store_checks").stores(spec))
    if form is JsonFormat.JSON:
        sys.stdout.write(json.dumps([asdict(each) for each in found], indent=2) + "\n")
    else:
        for each in found:
            _write(each)
    return 0 if all(each.ok for each in found) else 5


def _write(check: Check) -> None:
    mark = ("ok   ", "green") if check.ok else ("bad  ", "bold red")
    line = Text.assemble(mark, f"{check.name:<{_WIDTH}}", clean(check.found))
    write(out(), line, hang=5 + _WIDTH)
    if check.remedy:
        write(out(), Text(f"{'':{5 + _WIDTH}}{check.remedy}", style="cyan"), hang=5 + _WIDTH)
